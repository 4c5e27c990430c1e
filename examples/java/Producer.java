// Takes orders: each one and its event are written in one transaction. JDBC.
//
//   JDBC_URL=jdbc:postgresql://... java -cp postgresql.jar Producer.java 10
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

class Producer {
  static long takeOrder(Connection database, int total) throws SQLException {
    // Both are committed, or neither is.
    try (var order = database.prepareStatement("INSERT INTO shop.orders (total) VALUES (?) RETURNING id");
        var event =
            database.prepareStatement(
                "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
                    + " VALUES ('order', ?, 'order.created', ?::jsonb)")) {
      order.setInt(1, total);
      var answer = order.executeQuery();
      answer.next();
      long id = answer.getLong(1);
      event.setString(1, Long.toString(id));
      event.setString(2, "{\"id\": " + id + ", \"total\": \"" + total + "\"}");
      event.executeUpdate();
      database.commit();
      return id;
    } catch (SQLException failed) {
      database.rollback();
      throw failed;
    }
  }

  public static void main(String[] arguments) throws SQLException {
    int orders = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1;
    try (var database = DriverManager.getConnection(System.getenv("JDBC_URL"))) {
      database.setAutoCommit(false);
      for (int i = 0; i < orders; ++i) System.out.println("took order " + takeOrder(database, 10 + i));
    }
  }
}
