import { DataTypes, Sequelize } from "sequelize";
import { url } from "../scenario.mjs";

export const sequelize = new Sequelize(url, { logging: false });
export const Order = sequelize.define("Order", {
  id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
  total: DataTypes.INTEGER,
}, { schema: "shop", tableName: "orders", timestamps: false });
