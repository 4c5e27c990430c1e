import { eventOf, scenario } from "../scenario.mjs";
import { Event, takeOrder } from "./sample.mjs";
import { Order, sequelize } from "./shop.mjs";

await scenario({
  takeOrder,
  fails: (total, error) => sequelize.transaction(async (transaction) => {
    const order = await Order.create({ total }, { transaction });
    await Event.create(eventOf(order.id, total), { transaction, returning: ["id"] });
    throw error;
  }),
  takeMany: (totals) => sequelize.transaction(async (transaction) => {
    const orders = await Order.bulkCreate(totals.map((total) => ({ total })), { transaction, returning: ["id"] });
    await Event.bulkCreate(orders.map(({ id, total }) => eventOf(id, total)), { transaction, returning: ["id"] });
  }),
});
await sequelize.close();
