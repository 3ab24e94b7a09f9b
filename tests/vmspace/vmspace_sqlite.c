/* SPDX-License-Identifier: MIT */
/*
 * vmspace_sqlite.c - SQLite whose mapping of the database is guest memory, beside a process of the host that
 * writes the same database: in each journal mode, with and without mmap_size, with pages that are the
 * file's own and with pages whose bytes the program provides.
 *
 * A VFS over SQLite's own: pages are fetched from a shared mapping in a window, and half of what is written
 * is stored there. By turns both processes change the database, cutting the file, too, and see what the
 * other has done; then both count at once.
 *
 *	vmspace_sqlite [--seed N]
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/vmspace_files.h>

#include "options.h"

#define START 0x10000000UL
#define MAPPED ((size_t)8 << 20)
#define TURNS 8
#define COUNTS 60

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static unsigned long long seed;
static bool own_pages;          /* of the file; or the program provides the bytes */
static int file = -1;           /* the database */
static unsigned long fetched, stored; /* pages that SQLite read, and writes that it made, in the window */
static const struct vma_backing backing = { .kind = VMA_BACKING_FILE, .name = "/db", .inode = 7 };

/* ---- guest memory ---- */

static int descriptor(void *ctx, const struct vma_backing *is)
{
	(void)ctx;
	(void)is;
	return own_pages ? file : -1;
}

static int read_page(void *ctx, const struct vma_backing *is, uint64_t index, void *to)
{
	struct stat now;

	(void)ctx;
	(void)is;
	if (fstat(file, &now) || (uint64_t)now.st_size <= index * page)
		return -ENXIO;
	return pread(file, to, page, (off_t)(index * page)) > 0 ? 0 : -EIO;
}

/* Of the last page what the file has. */
static int write_page(void *ctx, const struct vma_backing *is, uint64_t index, const void *from)
{
	off_t at = (off_t)(index * page);
	size_t size = page;
	struct stat now;

	(void)ctx;
	(void)is;
	if (fstat(file, &now))
		return -errno;
	if (now.st_size < at + (off_t)size)
		size = now.st_size > at ? (size_t)(now.st_size - at) : 0;
	return pwrite(file, from, size, at) == (ssize_t)size ? 0 : -EIO;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	unsigned long addr;

	(void)context;
	if (!vmspace_window_guest(window, info->si_addr, &addr) ||
	    vmspace_touch(space, addr, VMSPACE_ACCESS_READ, NULL) != VMSPACE_FAULT_OK) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

static void make_guest(void)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20, .read_page = read_page };
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct vmspace_request map = { .op = VMSPACE_MMAP };
	struct vmspace_config config;

	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	vmspace_memfd_use_files(memfd, descriptor);
	assert_int_equal(vmspace_window_create(&window, memfd, START, MAPPED), 0);
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(window);
	assert_int_equal(vmspace_create(&space, &config), 0);
	map.mmap = (struct vmspace_mmap){ .addr = START, .length = MAPPED,
					  .prot = PROT_READ | PROT_WRITE,
					  .flags = MAP_SHARED | MAP_FIXED, .backing = backing };
	assert_int_equal(vmspace_call(space, &map), START);
}

static void end_guest(void)
{
	vmspace_destroy(space);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	signal(SIGSEGV, SIG_DFL);
}

/* Another process may have written: what it cut off goes from the guest, too. */
static int look_again(void)
{
	struct vmspace_request forget = { .op = VMSPACE_MADVISE };

	if (own_pages)
		return SQLITE_OK;
	forget.madvise = (struct vmspace_madvise){ .addr = START, .length = MAPPED,
						   .advice = MADV_DONTNEED };
	if (vmspace_memfd_invalidate(memfd, &backing, 0, UINT64_MAX) || vmspace_call(space, &forget))
		return SQLITE_IOERR;
	return SQLITE_OK;
}

/* ---- a VFS whose database is mapped in the guest ---- */

struct shim {
	sqlite3_file base;
	bool is_database;
	sqlite3_int64 limit;         /* mmap_size */
	sqlite3_file *real;
};

static struct shim *shim(sqlite3_file *f)
{
	return (struct shim *)(void *)f;
}

#define REAL(f) (shim(f)->real)
#define CALL(f, method, ...) (REAL(f)->pMethods->method(REAL(f), __VA_ARGS__))

static int shim_close(sqlite3_file *f)
{
	return REAL(f)->pMethods->xClose(REAL(f));
}

static int shim_read(sqlite3_file *f, void *to, int size, sqlite3_int64 at)
{
	return CALL(f, xRead, to, size, at);
}

static bool is_in_file(int size, sqlite3_int64 at)
{
	struct stat now;

	return !fstat(file, &now) && at + size <= now.st_size && at + size <= (sqlite3_int64)MAPPED;
}

/* Store it through the mapping, or write to the file and tell of it. */
static int shim_write(sqlite3_file *f, const void *from, int size, sqlite3_int64 at)
{
	unsigned long first = START + ((unsigned long)at & ~(page - 1));
	unsigned long end = (START + (unsigned long)at + (unsigned long)size + page - 1) & ~(page - 1);
	int result;

	if (shim(f)->is_database && shim(f)->limit && stored++ % 2 && is_in_file(size, at)) {
		if (vmspace_copy_to(space, START + (unsigned long)at, from, (size_t)size) !=
		    (size_t)size)
			return SQLITE_IOERR_WRITE;
		/* Others read the file without a word. */
		return own_pages || !vmspace_write_back(space, first, end, write_page, NULL)
			       ? SQLITE_OK
			       : SQLITE_IOERR_WRITE;
	}
	result = CALL(f, xWrite, from, size, at);
	if (!result && shim(f)->is_database && !own_pages)
		vmspace_memfd_written(memfd, &backing, (uint64_t)at, from, (size_t)size);
	return result;
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int result = CALL(f, xTruncate, size);

	return !result && shim(f)->is_database ? look_again() : result;
}

static int shim_sync(sqlite3_file *f, int flags)
{
	return CALL(f, xSync, flags);
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return CALL(f, xFileSize, size);
}

static int shim_lock(sqlite3_file *f, int lock)
{
	int result = CALL(f, xLock, lock);

	return !result && shim(f)->is_database && lock == SQLITE_LOCK_SHARED ? look_again() : result;
}

static int shim_unlock(sqlite3_file *f, int lock)
{
	return CALL(f, xUnlock, lock);
}

static int shim_check(sqlite3_file *f, int *result)
{
	return CALL(f, xCheckReservedLock, result);
}

/* SQLite itself must map nothing. */
static int shim_control(sqlite3_file *f, int op, void *arg)
{
	sqlite3_int64 *limit = arg, old = shim(f)->limit;

	if (op != SQLITE_FCNTL_MMAP_SIZE || !shim(f)->is_database)
		return CALL(f, xFileControl, op, arg);
	if (*limit >= 0)
		shim(f)->limit = *limit;
	*limit = old;
	return SQLITE_OK;
}

static int shim_sector(sqlite3_file *f)
{
	return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int shim_device(sqlite3_file *f)
{
	return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int shim_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **to)
{
	return CALL(f, xShmMap, region, size, extend, to);
}

static int shim_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	int result = CALL(f, xShmLock, offset, n, flags);

	/* A reader of the write-ahead log begins. */
	return !result && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_SHARED) ? look_again() : result;
}

static void shim_shm_barrier(sqlite3_file *f)
{
	REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int shim_shm_unmap(sqlite3_file *f, int delete)
{
	return CALL(f, xShmUnmap, delete);
}

static int shim_fetch(sqlite3_file *f, sqlite3_int64 at, int size, void **to)
{
	unsigned long addr = START + (unsigned long)at;

	*to = NULL;
	if (!shim(f)->is_database || at + size > shim(f)->limit || !is_in_file(size, at))
		return SQLITE_OK;
	*to = vmspace_window_host(window, addr);
	fetched++;
	return SQLITE_OK;
}

static int shim_unfetch(sqlite3_file *f, sqlite3_int64 at, void *from)
{
	(void)f;
	(void)at;
	(void)from;
	return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
	3, shim_close, shim_read, shim_write, shim_truncate, shim_sync, shim_size, shim_lock,
	shim_unlock, shim_check, shim_control, shim_sector, shim_device, shim_shm_map, shim_shm_lock,
	shim_shm_barrier, shim_shm_unmap, shim_fetch, shim_unfetch,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	sqlite3_vfs *real = vfs->pAppData;
	int result;

	*shim(f) = (struct shim){ .is_database = flags & SQLITE_OPEN_MAIN_DB,
				  .real = (sqlite3_file *)(void *)(shim(f) + 1) };
	result = real->xOpen(real, name, REAL(f), flags, out);
	f->pMethods = result ? NULL : &methods;
	return result;
}

static void register_shim(void)
{
	static sqlite3_vfs vfs;
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	vfs = *real;
	vfs.pNext = NULL;
	vfs.zName = "guest";
	vfs.pAppData = real;
	vfs.szOsFile = (int)sizeof(struct shim) + real->szOsFile;
	vfs.xOpen = shim_open;
	assert_int_equal(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
}

/* ---- what both processes do ---- */

static unsigned long long draws;

static unsigned int below(unsigned int n)
{
	draws = draws * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(draws >> 33) % n;
}

/* False: it says why. */
static bool run(sqlite3 *db, const char *sql)
{
	char *why = NULL;
	int result = sqlite3_exec(db, sql, NULL, NULL, &why);

	if (result != SQLITE_OK)
		printf("# %s: %s (%d)\n", sql, why, sqlite3_extended_errcode(db));
	sqlite3_free(why);
	return result == SQLITE_OK;
}

static sqlite3_int64 ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;
	sqlite3_int64 answer = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		answer = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return answer;
}

static sqlite3 *open_database(const char *path, const char *vfs, const char *mode, bool mapped)
{
	char sql[200];
	sqlite3 *db;

	snprintf(sql, sizeof(sql),
		 "PRAGMA journal_mode=%s; PRAGMA synchronous=OFF; PRAGMA mmap_size=%d;"
		 "PRAGMA cache_size=8; CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, body);"
		 "CREATE TABLE IF NOT EXISTS c(n)", mode, mapped ? 1 << 30 : 0);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs) != SQLITE_OK)
		return NULL;
	sqlite3_busy_timeout(db, 20000);
	return run(db, sql) ? db : NULL;
}

static bool change(sqlite3 *db)
{
	char sql[400];
	bool ok = run(db, "BEGIN IMMEDIATE");

	for (int i = 0; ok && i < 12; i++) {
		unsigned int id = below(60), length = 10 + below(6000);

		snprintf(sql, sizeof(sql), "REPLACE INTO t VALUES(%u, randomblob(%u));"
			 "DELETE FROM t WHERE id %% 17 = %u", id, length, below(40));
		ok = run(db, sql);
	}
	ok = ok && run(db, "COMMIT");
	/* Cuts the file. */
	return ok && (below(3) || (run(db, "DELETE FROM t WHERE id > 20") && run(db, "VACUUM") &&
				   run(db, "PRAGMA wal_checkpoint(TRUNCATE)")));
}

/* What is there; -1: the database is damaged. */
static sqlite3_int64 sum(sqlite3 *db)
{
	if (ask(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") != 1)
		return -1;
	return ask(db, "SELECT count(*) + 100 * coalesce(sum(id * length(body) + "
		       "instr(body, x'00') + instr(body, x'41') + instr(body, x'a5')), 0) FROM t");
}

static bool count_up(sqlite3 *db)
{
	bool ok = true;

	for (int i = 0; ok && i < COUNTS; i++)
		ok = run(db, "BEGIN IMMEDIATE; UPDATE c SET n = n + 1;"
			     "REPLACE INTO t VALUES(abs(random()) % 60, randomblob(3000)); COMMIT");
	return ok;
}

/* ---- the other process ---- */

struct peer {
	pid_t pid;
	int to, from;
};

static sqlite3_int64 obey(sqlite3 *db, char command)
{
	switch (command) {
	case 'c':
		return change(db);
	case 's':
		return sum(db);
	case 'n':
		return count_up(db);
	default:
		return -1;
	}
}

static void be_peer(const char *path, const char *mode, bool mapped, int in, int out)
{
	sqlite3 *db = NULL;
	char command;

	draws = seed + 1;
	while (read(in, &command, 1) == 1) {
		sqlite3_int64 answer;

		if (!db)
			db = open_database(path, NULL, mode, mapped);
		answer = db ? obey(db, command) : -2;
		if (write(out, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	sqlite3_close(db);
	fflush(stdout);
	_exit(0);
}

static struct peer start_peer(const char *path, const char *mode, bool mapped)
{
	struct peer peer;
	int to[2], from[2];

	fflush(stdout);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	peer.pid = fork();
	assert_true(peer.pid >= 0);
	if (!peer.pid) {
		close(to[1]);
		close(from[0]);
		be_peer(path, mode, mapped, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	peer.to = to[1];
	peer.from = from[0];
	return peer;
}

static void tell(const struct peer *peer, char command)
{
	assert_int_equal(write(peer->to, &command, 1), 1);
}

static sqlite3_int64 answer_of(const struct peer *peer)
{
	sqlite3_int64 answer;

	assert_int_equal(read(peer->from, &answer, sizeof(answer)), sizeof(answer));
	return answer;
}

static sqlite3_int64 ask_peer(const struct peer *peer, char command)
{
	tell(peer, command);
	return answer_of(peer);
}

static void end_peer(const struct peer *peer)
{
	int status;

	close(peer->to);
	close(peer->from);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	assert_int_equal(status, 0);
}

/* ---- cases ---- */

struct setting {
	bool own_pages, mapped;
	const char *mode;
};

static void take_turns(sqlite3 *db, const struct peer *peer)
{
	for (int turn = 0; turn < TURNS; turn++) {
		sqlite3_int64 theirs, ours;

		assert_int_equal(ask_peer(peer, 'c'), 1);
		theirs = ask_peer(peer, 's');
		assert_true(theirs >= 0);
		assert_int_equal(sum(db), theirs);
		assert_true(change(db));
		ours = sum(db);
		assert_true(ours >= 0);
		assert_int_equal(ask_peer(peer, 's'), ours);
	}
}

static void both_see_what_both_write(void **state)
{
	const struct setting *setting = *state;
	char directory[] = "/tmp/vmspace_sqlite.XXXXXX", path[64], command[100];
	struct peer peer;
	sqlite3 *db;

	printf("# vmspace_sqlite --seed %llu: %s, %s, %s\n", seed, setting->mode,
	       setting->mapped ? "mapped" : "not mapped",
	       setting->own_pages ? "pages of the file's own" : "bytes that the program provides");
	own_pages = setting->own_pages;
	draws = seed;
	fetched = stored = 0;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/db", directory);
	peer = start_peer(path, setting->mode, setting->mapped);
	/* Open as long as SQLite is: who closes a descriptor loses the locks of the file. */
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	make_guest();
	db = open_database(path, "guest", setting->mode, setting->mapped);
	assert_non_null(db);
	assert_true(run(db, "INSERT INTO c VALUES(0)"));
	take_turns(db, &peer);
	tell(&peer, 'n');
	assert_true(count_up(db));
	assert_int_equal(answer_of(&peer), 1);
	assert_int_equal(ask(db, "SELECT n FROM c"), 2 * COUNTS);
	assert_true(sum(db) >= 0);
	assert_int_equal(ask_peer(&peer, 's'), sum(db));
	assert_int_equal(fetched != 0, setting->mapped);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	end_peer(&peer);
	end_guest();
	close(file);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	static struct setting settings[16];
	static const char *const modes[] = { "DELETE", "TRUNCATE", "PERSIST", "WAL" };
	struct CMUnitTest tests[16];

	if (!take_options(argc, argv, &seed, NULL))
		return 2;
	for (size_t i = 0; i < 16; i++) {
		settings[i] = (struct setting){ i & 1, i & 2, modes[i / 4] };
		tests[i] = (struct CMUnitTest)cmocka_unit_test_prestate(both_see_what_both_write,
									&settings[i]);
	}
	register_shim();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
