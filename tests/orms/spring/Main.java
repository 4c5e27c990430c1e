// Spring: takes an order, rolls one back, and takes three at once; or consumes. Arguments: produce or consume,
// a URL of libpq's.
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.Collections;
import javax.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.EclipseLinkJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.TransactionTemplate;

class Settings {
  @Bean
  DataSource source() {
    URI url = URI.create(Main.url);
    String[] login = url.getUserInfo().split(":");
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl("jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath());
    source.setUser(login[0]);
    source.setPassword(login[1]);
    return source;
  }

  @Bean
  JdbcTemplate jdbc(DataSource source) {
    return new JdbcTemplate(source);
  }

  @Bean
  LocalContainerEntityManagerFactoryBean factory(DataSource source) {
    LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
    factory.setDataSource(source);
    factory.setJpaVendorAdapter(new EclipseLinkJpaVendorAdapter());
    factory.setPackagesToScan("shop");
    factory.setJpaPropertyMap(Collections.singletonMap("eclipselink.weaving", "false"));
    return factory;
  }

  @Bean
  PlatformTransactionManager transactions(EntityManagerFactory factory) {
    return new JpaTransactionManager(factory);
  }
}

public class Main {
  static String url;
  static AnnotationConfigApplicationContext context;

  public static void main(String[] arguments) throws Exception {
    url = arguments[1];
    context = new AnnotationConfigApplicationContext(
        Settings.class, OrderService.class, InvoiceListener.class);
    if (arguments[0].equals("consume")) {
      consume(context.getBean(InvoiceListener.class));
      return;
    }
    OrderService orders = context.getBean(OrderService.class);
    TransactionTemplate transaction =
        new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
    TransactionTemplate annotated = annotated(OrderService.class.getMethod("takeOrder", int.class));
    run(annotated, () -> orders.takeOrder(10));
    transaction.execute(status -> {
      run(annotated, () -> orders.takeOrder(11));
      status.setRollbackOnly();
      return null;
    });
    run(transaction, () -> {
      for (int i = 12; i <= 14; ++i) {
        int total = i;
        run(annotated, () -> orders.takeOrder(total));
      }
    });
    context.close();
  }

  // The transaction that @Transactional asks for. Debian's Spring cannot make a proxy of a class.
  static TransactionTemplate annotated(Method method) {
    TransactionAttribute attribute = new AnnotationTransactionAttributeSource()
        .getTransactionAttribute(method, method.getDeclaringClass());
    return new TransactionTemplate(context.getBean(PlatformTransactionManager.class), attribute);
  }

  static void run(TransactionTemplate transaction, Runnable what) {
    transaction.execute(status -> {
      what.run();
      return null;
    });
  }

  // What the container of Spring AMQP does: it declares, calls, and acknowledges.
  static void consume(InvoiceListener listener) throws Exception {
    Method handle = InvoiceListener.class.getMethod("handle", String.class, byte[].class);
    QueueBinding binding = handle.getAnnotation(RabbitListener.class).bindings();
    TransactionTemplate transaction = annotated(handle);
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(System.getenv("AMQP_URL"));
    Channel channel = factory.newConnection().createChannel();
    String queue = binding.value().value(), exchange = binding.exchange().value();
    channel.exchangeDeclare(exchange, binding.exchange().type(), true);
    channel.queueDeclare(queue, Boolean.parseBoolean(binding.value().durable()), false, false, null);
    channel.queueBind(queue, exchange, binding.key());
    channel.basicQos(50);
    channel.basicConsume(queue, false, (tag, message) -> {
      try {
        run(transaction, () -> listener.handle(message.getProperties().getMessageId(), message.getBody()));
        channel.basicAck(message.getEnvelope().getDeliveryTag(), false);
      } catch (RuntimeException failed) {
        channel.basicNack(message.getEnvelope().getDeliveryTag(), false, true);
      }
    }, tag -> System.exit(1));
  }
}
