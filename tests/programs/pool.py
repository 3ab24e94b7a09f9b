# SPDX-License-Identifier: MIT
"""A pool of 4 processes and 8 threads that allocate and free."""
import multiprocessing
import threading


def churn(seed):
    kept = []
    for i in range(60):
        kept.append(bytearray((seed * 37 + i * 7919) % 900_000 + 1))
        if len(kept) > 8:
            kept.pop(i % 8)
    return sum(len(block) for block in kept)


if __name__ == "__main__":
    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    with multiprocessing.Pool(4) as pool:
        total = sum(pool.map(churn, range(64)))
    for thread in threads:
        thread.join()
    print(total)
