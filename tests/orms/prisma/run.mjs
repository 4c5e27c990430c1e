import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { consume } from "./consumer.mjs";
import { PrismaClient } from "./generated/client.ts";
import { takeOrder } from "./prisma.mjs";
import { consumes, eventOf, scenario, url } from "../scenario.mjs";

async function take(tx, total) {
  const { id } = await tx.order.create({ data: { total } });
  const { aggregate_type, aggregate_id, event_type, payload } = eventOf(id, total);
  await tx.$executeRaw`INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)
    VALUES (${aggregate_type}, ${aggregate_id}, ${event_type}, ${payload})`;
}

if (consumes) {
  await consume(new pg.Pool({ connectionString: url }));
} else {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  await scenario({
    takeOrder: (total) => takeOrder(prisma, total),
    fails: (total, error) => prisma.$transaction(async (tx) => {
      await take(tx, total);
      throw error;
    }),
    takeMany: (totals) => prisma.$transaction(async (tx) => {
      for (const total of totals) await take(tx, total);
    }),
  });
  await prisma.$disconnect();
}
