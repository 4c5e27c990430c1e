# The business tables of the sample.
from django.db import models


class Order(models.Model):
    total = models.IntegerField()

    class Meta:
        managed = False
        db_table = 'shop"."orders'


class Invoice(models.Model):
    order_id = models.BigIntegerField()
    total = models.IntegerField()

    class Meta:
        managed = False
        db_table = 'shop"."invoices'
