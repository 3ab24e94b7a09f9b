local t = {}
for i = 1, 20000 do t[i] = {i, tostring(i)} end
t = nil
collectgarbage()
for l in io.lines("/proc/self/maps") do print(l) end
