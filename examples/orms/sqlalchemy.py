# An order and its event, in one transaction.
from shop.models import Base, Order
from sqlalchemy import Column, FetchedValue, Text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP, UUID


class Event(Base):
    __tablename__ = "event"
    __table_args__ = {"schema": "outbox"}
    id = Column(UUID(as_uuid=True), primary_key=True, server_default=FetchedValue())
    aggregate_type = Column(Text, nullable=False)
    aggregate_id = Column(Text, nullable=False)
    event_type = Column(Text, nullable=False)
    payload = Column(JSONB, nullable=False)
    headers = Column(JSONB(none_as_null=True))
    available_at = Column(TIMESTAMP(timezone=True))


def take_order(session, total):
    order = Order(total=total)
    session.add(order)
    session.flush()  # gives the order its id
    session.add(Event(aggregate_type="order", aggregate_id=str(order.id), event_type="order.created",
                      payload={"id": order.id, "total": str(total)}))
