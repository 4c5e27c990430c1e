// The business table of the sample.
package shop;

import javax.persistence.*;

@Entity
@Table(schema = "shop", name = "orders")
public class Order {
  @Id
  @GeneratedValue(strategy = GenerationType.IDENTITY)
  private Long id;

  private int total;

  public Order() {}

  public Order(int total) {
    this.total = total;
  }

  public Long getId() {
    return id;
  }
}
