import { MikroORM } from "@mikro-orm/postgresql";
import { eventOf, scenario, url } from "../scenario.mjs";
import { Event, takeOrder } from "./sample.mjs";
import { Order } from "./shop.mjs";

const orm = await MikroORM.init({ clientUrl: url, entities: [Order, Event], discovery: { warnWhenNoEntities: false } });
await scenario({
  takeOrder: (total) => takeOrder(orm.em.fork(), total),
  fails: (total, error) => orm.em.fork().transactional(async (em) => {
    const order = em.create(Order, { total });
    await em.flush();
    em.create(Event, eventOf(order.id, total));
    await em.flush();
    throw error;
  }),
  takeMany: (totals) => orm.em.fork().transactional(async (em) => {
    const orders = totals.map((total) => em.create(Order, { total }));
    await em.flush();
    for (const { id, total } of orders) em.create(Event, eventOf(id, total));
  }),
});
await orm.close();
