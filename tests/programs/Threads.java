// SPDX-License-Identifier: MIT
// As many threads as the argument says, 8 without one, that fill and drop arrays.
public class Threads {
    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[args.length > 0 ? Integer.parseInt(args[0]) : 8];
        for (int t = 0; t < threads.length; t++) {
            final int seed = t;
            threads[t] = new Thread(() -> {
                byte[][] kept = new byte[8][];
                for (int i = 0; i < 2000; i++)
                    kept[i % 8] = new byte[(seed * 37 + i * 7919) % 100_000 + 1];
            });
            threads[t].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.println("done");
    }
}
