package misstep.workloads.h2;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import misstep.workloads.Harness;
import misstep.workloads.ValidationException;

/**
 * Moves money between accounts in concurrent transactions and checks that none was created or lost.
 */
public final class Main {
  private static final int ACCOUNTS = 48;
  private static final long OPENING = 10_000;

  private Main() {}

  /**
   * Runs the workload.
   *
   * @param args threads, transfers of each thread, seed
   */
  public static void main(String[] args) {
    int threads = Harness.argument(args, 0, 4);
    int transfers = Harness.argument(args, 1, 3000);
    int seed = Harness.argument(args, 2, 7);
    Harness.run((index, scratch) -> new Bank(scratch).run(threads, transfers, seed + index));
  }

  private static final class Bank {
    private final String url;

    Bank(Path scratch) {
      url =
          "jdbc:h2:file:"
              + scratch.resolve("bank").toAbsolutePath()
              + ";LOCK_TIMEOUT=20000;WRITE_DELAY=200";
    }

    void run(int threads, int transfers, int seed) throws Exception {
      // One connection stays open to keep the database open.
      try (Connection keeper = DriverManager.getConnection(url)) {
        open(keeper);
        var pool = Executors.newFixedThreadPool(threads);
        try {
          List<Callable<Long>> tellers = new ArrayList<>();
          for (int i = 0; i < threads; i++) {
            long tellerSeed = seed * 1000L + i;
            tellers.add(() -> new Teller(url, tellerSeed).work(transfers));
          }
          long moved = 0;
          for (Future<Long> teller : pool.invokeAll(tellers)) {
            moved += teller.get();
          }
          verify(keeper, (long) threads * transfers, moved);
        } finally {
          pool.shutdownNow();
        }
      }
    }

    private static void open(Connection c) throws SQLException {
      try (var s = c.createStatement()) {
        s.execute("create table account(id int primary key, balance bigint not null)");
        s.execute("create table journal(id identity, source int, target int, amount bigint)");
        s.execute("create index by_source on journal(source)");
        s.execute("create index by_target on journal(target)");
        s.execute(
            "insert into account select x, "
                + OPENING
                + " from system_range(0, "
                + (ACCOUNTS - 1)
                + ")");
      }
    }

    private static void verify(Connection c, long transfers, long moved) throws Exception {
      ValidationException.equal(
          "sum of the balances", ACCOUNTS * OPENING, number(c, "select sum(balance) from account"));
      ValidationException.equal(
          "journal's lines", transfers, number(c, "select count(*) from journal"));
      ValidationException.equal(
          "money that was moved", moved, number(c, "select sum(amount) from journal"));
      ValidationException.equal(
          "accounts that differ from the journal",
          0,
          number(
              c,
              "select count(*) from account a where a.balance <> "
                  + OPENING
                  + " + (select coalesce(sum(amount), 0) from journal where target = a.id)"
                  + " - (select coalesce(sum(amount), 0) from journal where source = a.id)"));
    }

    private static long number(Connection c, String query) throws SQLException {
      try (var s = c.createStatement();
          var r = s.executeQuery(query)) {
        r.next();
        return r.getLong(1);
      }
    }
  }
}
