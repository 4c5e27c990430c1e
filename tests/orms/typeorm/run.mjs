import "reflect-metadata";
import { DataSource } from "typeorm";
import { eventOf, scenario, url } from "../scenario.mjs";
import { Event, takeOrder } from "./sample.mjs";
import { Order } from "./shop.mjs";

const dataSource = new DataSource({ type: "postgres", url, entities: [Order, Event], installExtensions: false });
await dataSource.initialize();
await scenario({
  takeOrder: (total) => takeOrder(dataSource, total),
  fails: (total, error) => dataSource.transaction(async (manager) => {
    const order = await manager.save(Order, { total });
    await manager.save(Event, eventOf(order.id, total));
    throw error;
  }),
  takeMany: (totals) => dataSource.transaction(async (manager) => {
    const orders = await manager.save(Order, totals.map((total) => ({ total })));
    await manager.save(Event, orders.map(({ id, total }) => eventOf(id, total)));
  }),
});
await dataSource.destroy();
