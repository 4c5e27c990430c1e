# The business tables of the sample.
from sqlalchemy import BigInteger, Column, Integer
from sqlalchemy.orm import declarative_base

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = {"schema": "shop"}
    id = Column(BigInteger, primary_key=True)
    total = Column(Integer, nullable=False)


class Invoice(Base):
    __tablename__ = "invoices"
    __table_args__ = {"schema": "shop"}
    id = Column(BigInteger, primary_key=True)
    order_id = Column(BigInteger, nullable=False)
    total = Column(Integer, nullable=False)
