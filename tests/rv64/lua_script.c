/* SPDX-License-Identifier: MIT */
/* lua_script.c - runs a script, as the program lua does: Lua as a library, for a static program. */
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

int main(int argc, char **argv)
{
	lua_State *lua = luaL_newstate();
	int failed;

	if (!lua || argc != 2)
		return 2;
	luaL_openlibs(lua);
	failed = luaL_dofile(lua, argv[1]);
	if (failed)
		fprintf(stderr, "%s\n", lua_tostring(lua, -1));
	lua_close(lua);
	return failed;
}
