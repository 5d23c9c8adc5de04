import { Ints, NONE } from './lists.ts';

/** The result of `sort`. What follows a number is in `followed`, from its place in `starts` to that of the next number. */
export interface Sorted {
  readonly circle: Int32Array;
  readonly order: Int32Array;
  readonly starts: Int32Array;
  readonly followed: Int32Array;
}

/** Numbers in lists, in each of which one comes before the next. */
export class Graph {
  /** All lists, each with `NONE` behind it. */
  private readonly places = new Ints();

  get length(): number {
    return this.places.length;
  }

  /** Adds to the list that has no end yet. */
  add(node: number): void {
    this.places.push(node);
  }

  end(): void {
    this.places.push(NONE);
  }

  /**
   * Looks at the lists that had this `length`. The numbers that cannot be put in an order with others: `circle` has the same number for all of one circle, and 0 for all
   * others. `order` has all numbers so that each comes behind everything that it comes before. This is Tarjan's search for
   * strongly connected components, without recursion; its time is linear.
   */
  sort(nodes: number, places = this.places.length): Sorted {
    const { starts, ends, followed } = this.bySource(nodes, places);
    const circle = new Int32Array(nodes);
    const order = new Int32Array(nodes);
    const visit = new Int32Array(nodes);
    const low = new Int32Array(nodes);
    const isWaiting = new Uint8Array(nodes);
    const path = new Ints();
    const waiting = new Ints();
    let [visited, left, circles] = [0, 0, 0];
    const lower = (node: number, to: number) => {
      low[node] = Math.min(low[node] ?? 0, to);
    };
    const enter = (node: number) => {
      low[node] = visit[node] = ++visited;
      isWaiting[node] = 1;
      path.push(node);
      waiting.push(node);
    };
    const leave = (node: number) => {
      path.pop();
      if (path.length > 0) lower(path.last, low[node] ?? 0);
      if (low[node] !== visit[node]) return;
      const isCircle = waiting.last !== node;
      if (isCircle) circles++;
      for (let member = NONE; member !== node; ) {
        member = waiting.pop();
        isWaiting[member] = 0;
        order[left++] = member;
        if (isCircle) circle[member] = circles;
      }
    };
    for (let root = 0; root < nodes; root++) {
      if (visit[root] !== 0) continue;
      enter(root);
      while (path.length > 0) {
        const node = path.last;
        // The edges of a node are followed from the last one on.
        const edge = (ends[node] ?? 0) - 1;
        if (edge < (starts[node] ?? 0)) {
          leave(node);
          continue;
        }
        ends[node] = edge;
        const to = followed[edge] ?? 0;
        if (visit[to] === 0) enter(to);
        else if (isWaiting[to] === 1) lower(node, visit[to] ?? 0);
      }
    }
    return { circle, order, starts, followed };
  }

  private pairs(places: number, see: (from: number, to: number) => void): void {
    let before = NONE;
    for (let place = 0; place < places; place++) {
      const node = this.places.get(place);
      if (before !== NONE && node !== NONE) see(before, node);
      before = node;
    }
  }

  /** What follows each number, side by side. */
  private bySource(nodes: number, places: number) {
    const starts = new Int32Array(nodes + 1);
    this.pairs(places, (from) => {
      starts[from + 1] = (starts[from + 1] ?? 0) + 1;
    });
    for (let node = 0; node < nodes; node++) {
      starts[node + 1] = (starts[node + 1] ?? 0) + (starts[node] ?? 0);
    }
    const ends = starts.slice(0, nodes);
    const followed = new Int32Array(starts[nodes] ?? 0);
    this.pairs(places, (from, to) => {
      const at = ends[from] ?? 0;
      followed[at] = to;
      ends[from] = at + 1;
    });
    return { starts, ends, followed };
  }
}
