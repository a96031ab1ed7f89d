"""Customers of a shop with several counters: a simulation by events, with classes and a heap."""

import heapq

ARRIVAL = 0
DEPARTURE = 1


class Random:
    """Numbers that are the same everywhere."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state / 2147483648


class Customer:
    def __init__(self, number, arrived, patience):
        self.number = number
        self.arrived = arrived
        self.patience = patience
        self.started = None
        self.left = None
        self.counter = None


class Counter:
    """Where customers are served, one at a time."""

    def __init__(self, speed):
        self.speed = speed
        self.customer = None
        self.served = 0
        self.busy = 0.0


class Shop:
    def __init__(self, seed):
        self.random = Random(seed)
        self.clock = 0.0
        self.lost = 0
        self.waited = 0.0
        self.longest = 0


def free_counter(counters):
    """The fastest counter without a customer; None: all are busy."""
    best = None
    for counter in counters:
        if counter.customer is None and (best is None or counter.speed > best.speed):
            best = counter
    return best


def serve(shop, counter, customer, work, events, number):
    counter.customer = customer
    customer.counter = counter
    customer.started = shop.clock
    shop.waited += shop.clock - customer.arrived
    duration = work / counter.speed
    counter.busy += duration
    heapq.heappush(events, (shop.clock + duration, number, DEPARTURE, customer))


def simulate(counters_count, customers_count, seed):
    """Statistics of a day, and all customers."""
    shop = Shop(seed)
    counters = []
    for i in range(counters_count):
        counters.append(Counter(1.0 + 0.25 * i))
    events = []
    customers = []
    time = 0.0
    for i in range(customers_count):
        time += shop.random.uniform() * 1.5
        customer = Customer(i, time, 2.0 + 6.0 * shop.random.uniform())
        customers.append(customer)
        heapq.heappush(events, (time, i, ARRIVAL, customer))
    number = customers_count
    waiting = []
    first = 0
    while events:
        moment, _, kind, customer = heapq.heappop(events)
        shop.clock = moment
        if kind == ARRIVAL:
            waiting.append(customer)
        else:
            counter = customer.counter
            customer.left = moment
            counter.served += 1
            counter.customer = None
        while first < len(waiting):
            counter = free_counter(counters)
            if counter is None:
                break
            chosen = waiting[first]
            first += 1
            if moment - chosen.arrived > chosen.patience:
                shop.lost += 1
                continue
            serve(shop, counter, chosen, 1.0 + 3.0 * shop.random.uniform(), events, number)
            number += 1
        shop.longest = max(shop.longest, len(waiting) - first)
    served = 0
    busy = 0.0
    for counter in counters:
        served += counter.served
        busy += counter.busy
    return served, shop.lost, shop.waited, shop.longest, busy, shop.clock, customers
