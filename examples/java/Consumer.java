// Writes an invoice for each order, once, however often its event is delivered. JDBC and the Java client.
//
//   JDBC_URL=jdbc:postgresql://... AMQP_URL=amqp://... java -cp postgresql.jar:amqp-client.jar:slf4j-api.jar Consumer.java
import com.rabbitmq.client.ConnectionFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.UUID;

class Consumer {
  static final String NAME = "invoices.java"; // of the queue, and of the effect for first_time

  static void handle(Connection database, UUID event, String payload) throws SQLException {
    // The record of the event and its effect are committed together.
    try (var first = database.prepareStatement("SELECT outbox.first_time(?, ?)");
        var invoice =
            database.prepareStatement(
                "INSERT INTO shop.invoices (consumer, order_id, total)"
                    + " SELECT ?, (o ->> 'id')::bigint, (o ->> 'total')::numeric FROM (SELECT ?::jsonb AS o) AS x")) {
      first.setString(1, NAME);
      first.setObject(2, event);
      var answer = first.executeQuery();
      answer.next();
      if (answer.getBoolean(1)) {
        invoice.setString(1, NAME);
        invoice.setString(2, payload);
        invoice.executeUpdate();
      }
      database.commit();
    } catch (SQLException failed) {
      database.rollback();
      throw failed;
    }
  }

  public static void main(String[] arguments) throws Exception {
    var database = DriverManager.getConnection(System.getenv("JDBC_URL"));
    database.setAutoCommit(false);
    var factory = new ConnectionFactory();
    factory.setUri(System.getenv("AMQP_URL"));
    var channel = factory.newConnection().createChannel();
    channel.exchangeDeclare("outbox", "topic", true);
    channel.queueDeclare(NAME, true, false, false, null);
    channel.queueBind(NAME, "outbox", "order.created");
    channel.basicQos(50);
    channel.basicConsume(
        NAME,
        false,
        (tag, message) -> {
          try {
            var id = UUID.fromString(message.getProperties().getMessageId());
            handle(database, id, new String(message.getBody(), "UTF-8"));
            // Only now: whatever fails before brings the message back.
            channel.basicAck(message.getEnvelope().getDeliveryTag(), false);
          } catch (SQLException failed) {
            failed.printStackTrace();
            System.exit(1);
          }
        },
        tag -> System.exit(1));
    System.out.println("waits for orders");
  }
}
