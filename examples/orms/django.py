# An order and its event, in one transaction.
import uuid

from django.db import models, transaction
from shop.models import Order


class Event(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    aggregate_type = models.TextField()
    aggregate_id = models.TextField()
    event_type = models.TextField()
    payload = models.JSONField()
    headers = models.JSONField(null=True)
    available_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = 'outbox"."event'


@transaction.atomic  # not in on_commit, which comes too late
def take_order(total):
    order = Order.objects.create(total=total)
    Event.objects.create(aggregate_type="order", aggregate_id=order.id, event_type="order.created",
                         payload={"id": order.id, "total": str(total)})
