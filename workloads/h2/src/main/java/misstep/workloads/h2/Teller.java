package misstep.workloads.h2;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.SplittableRandom;

/** One thread's transfers, each a transaction that is retried after a conflict. */
final class Teller {
  private static final int ACCOUNTS = 48;
  private static final int TRIES = 1000;

  private final String url;
  private final SplittableRandom random;

  Teller(String url, long seed) {
    this.url = url;
    this.random = new SplittableRandom(seed);
  }

  /** Makes so many transfers and returns the sum of money that it moved. */
  long work(int transfers) throws SQLException {
    long moved = 0;
    try (Connection c = DriverManager.getConnection(url)) {
      c.setAutoCommit(false);
      try (var lock = c.prepareStatement("select balance from account where id = ? for update");
          var add = c.prepareStatement("update account set balance = balance + ? where id = ?");
          var note =
              c.prepareStatement("insert into journal(source, target, amount) values (?, ?, ?)")) {
        for (int i = 0; i < transfers; i++) {
          int source = random.nextInt(ACCOUNTS);
          int target = (source + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS;
          long amount = 1 + random.nextInt(100);
          for (int tries = 1; ; tries++) {
            try {
              transfer(lock, add, note, source, target, amount);
              c.commit();
              break;
            } catch (SQLException e) {
              c.rollback();
              // 40001 deadlock, HYT00 lock timeout: the other transaction won, this one tries
              // again.
              boolean again = "40001".equals(e.getSQLState()) || "HYT00".equals(e.getSQLState());
              if (!again || tries == TRIES) {
                throw e;
              }
            }
          }
          moved += amount;
        }
      }
    }
    return moved;
  }

  private static void transfer(
      PreparedStatement lock,
      PreparedStatement add,
      PreparedStatement note,
      int source,
      int target,
      long amount)
      throws SQLException {
    // Always the smaller one first, which avoids most deadlocks but not all.
    balance(lock, Math.min(source, target));
    balance(lock, Math.max(source, target));
    update(add, source, -amount);
    update(add, target, amount);
    note.setInt(1, source);
    note.setInt(2, target);
    note.setLong(3, amount);
    note.executeUpdate();
  }

  private static long balance(PreparedStatement lock, int account) throws SQLException {
    lock.setInt(1, account);
    try (var r = lock.executeQuery()) {
      r.next();
      return r.getLong(1);
    }
  }

  private static void update(PreparedStatement add, int account, long amount) throws SQLException {
    add.setLong(1, amount);
    add.setInt(2, account);
    if (add.executeUpdate() != 1) {
      throw new SQLException("account " + account + " is gone");
    }
  }
}
