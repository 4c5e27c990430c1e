// The annotations of Spring AMQP that the page uses: its library is in no registry that the check may use.
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@Retention(RetentionPolicy.RUNTIME)
@interface RabbitListener {
  QueueBinding bindings();
}

@Retention(RetentionPolicy.RUNTIME)
@interface QueueBinding {
  Queue value();

  Exchange exchange();

  String key();
}

@Retention(RetentionPolicy.RUNTIME)
@interface Queue {
  String value();

  String durable();
}

@Retention(RetentionPolicy.RUNTIME)
@interface Exchange {
  String value();

  String type();
}

@interface Header {
  String value();
}

@interface Payload {}

interface AmqpHeaders {
  String MESSAGE_ID = "amqp_messageId";
}
