/** What must come before what. */
export class Graph {
  private readonly froms: number[] = [];
  private readonly tos: number[] = [];
  private nodes: number;

  /** `nodes` are numbered from 0. */
  constructor(nodes: number) {
    this.nodes = nodes;
  }

  /** Adds a node, and returns its number. */
  add(): number {
    return this.nodes++;
  }

  edge(from: number, to: number): void {
    this.froms.push(from);
    this.tos.push(to);
  }

  get edges(): number {
    return this.froms.length;
  }

  at(edge: number): readonly [from: number, to: number] {
    return [this.froms[edge] ?? -1, this.tos[edge] ?? -1];
  }

  /**
   * The number of the circle that each node is in; 0: none. Nodes of one number cannot be put in an order. This is
   * Tarjan's search for strongly connected components, without recursion; its time is linear.
   */
  circles(): Int32Array {
    const { starts, targets } = this.bySource();
    const circle = new Int32Array(this.nodes);
    const order = new Int32Array(this.nodes);
    const low = new Int32Array(this.nodes);
    const isWaiting = new Uint8Array(this.nodes);
    /** The next edge of each node to follow. */
    const next = starts.slice(0, this.nodes);
    const path: number[] = [];
    const waiting: number[] = [];
    let visited = 0;
    let circles = 0;
    const enter = (node: number) => {
      visited++;
      order[node] = visited;
      low[node] = visited;
      path.push(node);
      waiting.push(node);
      isWaiting[node] = 1;
    };
    const leave = (node: number) => {
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) low[above] = Math.min(low[above] ?? 0, low[node] ?? 0);
      if (low[node] !== order[node]) return;
      const isCircle = waiting.at(-1) !== node;
      if (isCircle) circles++;
      for (let member = waiting.pop(); member !== undefined; member = waiting.pop()) {
        isWaiting[member] = 0;
        if (isCircle) circle[member] = circles;
        if (member === node) return;
      }
    };
    for (let root = 0; root < this.nodes; root++) {
      if (order[root] !== 0) continue;
      enter(root);
      for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
        const edge = next[node] ?? 0;
        if (edge === starts[node + 1]) {
          leave(node);
          continue;
        }
        next[node] = edge + 1;
        const to = targets[edge] ?? 0;
        if (order[to] === 0) enter(to);
        else if (isWaiting[to] === 1) low[node] = Math.min(low[node] ?? 0, order[to] ?? 0);
      }
    }
    return circle;
  }

  /** The targets of all edges, those of one node side by side. */
  private bySource() {
    const starts = new Int32Array(this.nodes + 1);
    for (const from of this.froms) starts[from + 1] = (starts[from + 1] ?? 0) + 1;
    for (let node = 0; node < this.nodes; node++) {
      starts[node + 1] = (starts[node + 1] ?? 0) + (starts[node] ?? 0);
    }
    const free = starts.slice();
    const targets = new Int32Array(this.edges);
    for (let edge = 0; edge < this.edges; edge++) {
      const from = this.froms[edge] ?? 0;
      const at = free[from] ?? 0;
      targets[at] = this.tos[edge] ?? 0;
      free[from] = at + 1;
    }
    return { starts, targets };
  }
}
