-- What Lua computes: the same on every machine.
local x = 0.1
for i = 1, 500 do
  x = x * 3.999 * (1 - x)
  print(string.format("%a %a %a %a %a", math.sin(x * 100), math.exp(x), math.log(x), math.sqrt(x), x ^ 2.5))
  print(math.floor(x * 1e6), string.format("%a %a", x * 1e15 // 1, math.fmod(x * 1e10, 7.3)))
end
print(1 / 0, -1 / 0, math.tointeger(2 ^ 62), 1e308 * 10, 2 ^ -1074, 5 // 0.0, -5 % 0.3)
print(3 | 5, 1 << 63, -7 // 2, -7 % 3, math.ult(1, -1), math.maxinteger * 3, math.mininteger // -1)

local words = {}
for word in ("the quick brown fox jumps over the lazy dog"):gmatch("%a+") do
  words[#words + 1] = word:upper():reverse()
end
table.sort(words)
print(table.concat(words, " "), ("x"):rep(10, "-"), string.pack("<i4d", -5, 1.25):byte(1, -1))

local function numbers(n)
  return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i) end end)
end
local sum = 0
for square in numbers(1000) do sum = sum + square end
print(sum, select("#", pcall(error, "caught")))

local kept = {}
for i = 1, 50000 do kept[i % 100] = { i, tostring(i) } end
collectgarbage()
print(#kept, kept[99][2], collectgarbage("count") > 0)
