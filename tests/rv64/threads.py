"""Threads, futexes, and forks while other threads run: what it prints is the same on every machine.

Of modules only what is part of the interpreter: others would be compiled each time.
"""
import _thread
import os
import time

COUNT = 4
total = 0
lock = _thread.allocate_lock()
ended = [_thread.allocate_lock() for _ in range(COUNT)]


def work(number):
    global total
    for step in range(2000):
        with lock:
            total += number * step
        data = [bytes(3000) for _ in range(10)]
        data.clear()
    bytearray(4000000)  # by mmap and munmap
    ended[number].release()


def end_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


for number in range(COUNT):
    ended[number].acquire()
    _thread.start_new_thread(work, (number,))
codes = []
for number in range(10):
    child = os.fork()
    if child == 0:
        os._exit(number)
    codes.append(end_of(child))
for thread in ended:
    thread.acquire()
print("sum", total, "children", codes)

waiting, woken = _thread.allocate_lock(), []
waiting.acquire()
ended[0].release()
ended[0].acquire()
_thread.start_new_thread(lambda: (waiting.acquire(), woken.append("woken"), ended[0].release()), ())
reads, writes = os.pipe()
child = os.posix_spawn("/bin/busybox", ["sh", "-c", "echo a child; exit 3"], {},
                       file_actions=[(os.POSIX_SPAWN_DUP2, writes, 1)])
os.close(writes)
print(os.read(reads, 100), end_of(child))
waiting.release()
print(ended[0].acquire(timeout=60), woken, lock.acquire(timeout=1), lock.acquire(timeout=0.01))
began = time.monotonic()
time.sleep(0.01)
print(time.monotonic() - began >= 0.01)
