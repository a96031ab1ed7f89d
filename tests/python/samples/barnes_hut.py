"""Stars that attract each other, by the method of Barnes and Hut: a tree of squares, written with classes.

A cell of the tree is a square with four quarters, the total mass of the stars in it and their centre. Far cells attract
a star as if they were one body. Nothing is recursive: trees are iterated over with stacks.
"""

import math

import numpy as np


class Star:
    """A body, with what acts on it."""

    def __init__(self, x, y, vx, vy, mass):
        self.x = x
        self.y = y
        self.vx = vx
        self.vy = vy
        self.mass = mass
        self.ax = 0.0
        self.ay = 0.0

    def kick(self, dt):
        self.vx += self.ax * dt
        self.vy += self.ay * dt

    def drift(self, dt):
        self.x += self.vx * dt
        self.y += self.vy * dt

    @property
    def energy(self):
        return 0.5 * self.mass * (self.vx * self.vx + self.vy * self.vy)


class Cell:
    """A square around (x, y); a leaf holds one star or none."""

    def __init__(self, x, y, half, depth):
        self.x = x
        self.y = y
        self.half = half
        self.depth = depth
        self.mass = 0.0
        self.cx = 0.0
        self.cy = 0.0
        self.star = None
        self.is_leaf = True
        self.south_west = None
        self.south_east = None
        self.north_west = None
        self.north_east = None

    def quarter(self, x, y):
        """The quarter that holds a point, made if it is not there."""
        half = self.half / 2
        depth = self.depth + 1
        if y < self.y:
            if x < self.x:
                if self.south_west is None:
                    self.south_west = Cell(self.x - half, self.y - half, half, depth)
                return self.south_west
            if self.south_east is None:
                self.south_east = Cell(self.x + half, self.y - half, half, depth)
            return self.south_east
        if x < self.x:
            if self.north_west is None:
                self.north_west = Cell(self.x - half, self.y + half, half, depth)
            return self.north_west
        if self.north_east is None:
            self.north_east = Cell(self.x + half, self.y + half, half, depth)
        return self.north_east

    def add_mass(self, star):
        total = self.mass + star.mass
        self.cx = (self.cx * self.mass + star.x * star.mass) / total
        self.cy = (self.cy * self.mass + star.y * star.mass) / total
        self.mass = total


def insert(root, star):
    """Adds a star to a tree: leaves that hold one already are divided."""
    cell = root
    while True:
        cell.add_mass(star)
        if cell.depth > 40:
            return
        if cell.is_leaf:
            if cell.star is None:
                cell.star = star
                return
            other = cell.star
            cell.star = None
            cell.is_leaf = False
            below = cell.quarter(other.x, other.y)
            below.star = other
            below.add_mass(other)
        cell = cell.quarter(star.x, star.y)


def build(stars):
    """The tree of all stars."""
    low = stars[0].x
    high = stars[0].x
    for star in stars:
        low = min(low, star.x, star.y)
        high = max(high, star.x, star.y)
    half = (high - low) / 2 + 1e-9
    middle = (low + high) / 2
    root = Cell(middle, middle, half, 0)
    for star in stars:
        insert(root, star)
    return root


def attract(root, star, theta, softening):
    """Sets the acceleration of a star; how many bodies that took."""
    ax = 0.0
    ay = 0.0
    count = 0
    pending = [root]
    while pending:
        cell = pending.pop()
        dx = cell.cx - star.x
        dy = cell.cy - star.y
        square = dx * dx + dy * dy + softening
        width = 2 * cell.half
        if cell.is_leaf or width * width < theta * theta * square:
            if cell.star is not star:
                pull = cell.mass / (square * math.sqrt(square))
                ax += dx * pull
                ay += dy * pull
                count += 1
            continue
        for part in (cell.south_west, cell.south_east, cell.north_west, cell.north_east):
            if part is not None:
                pending.append(part)
    star.ax = ax
    star.ay = ay
    return count


def simulate(positions, velocities, masses, steps, dt, theta):
    """Moves stars in time: where they end, their energy of motion, how many forces were computed, and the deepest leaf."""
    stars = []
    for i in range(len(masses)):
        stars.append(Star(positions[i, 0], positions[i, 1], velocities[i, 0], velocities[i, 1], masses[i]))
    forces = 0
    deepest = 0
    for step in range(steps):
        root = build(stars)
        for star in stars:
            forces += attract(root, star, theta, 1e-4)
        for star in stars:
            star.kick(dt)
            star.drift(dt)
        pending = [root]
        while pending:
            cell = pending.pop()
            deepest = max(deepest, cell.depth)
            for part in (cell.south_west, cell.south_east, cell.north_west, cell.north_east):
                if part is not None:
                    pending.append(part)
    energy = 0.0
    result = np.empty((len(stars), 2))
    for i in range(len(stars)):
        energy += stars[i].energy
        result[i, 0] = stars[i].x
        result[i, 1] = stars[i].y
    return result, energy, forces, deepest
