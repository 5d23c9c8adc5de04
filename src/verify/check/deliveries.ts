import { Graph } from './graph.ts';
import type { Chain, Item } from './model.ts';
import type { Recording } from './recording.ts';

/** In which order clients have received events. */
interface Order {
  /** An edge leads from each event to the next one in somebody's chain. */
  readonly graph: Graph;
  /** The chain of each edge. */
  readonly owners: readonly Chain[];
}

/** Reads the order of events out of all chains, without what came twice: once, after the last line. */
export class Deliveries {
  private readonly recording: Recording;
  private read: Order | undefined;

  constructor(recording: Recording) {
    this.recording = recording;
  }

  get order(): Order {
    this.read ??= this.orderNow();
    return this.read;
  }

  private orderNow(): Order {
    const { items, chains } = this.recording;
    this.recording.clearMarks();
    const graph = new Graph(items.length);
    const owners: Chain[] = [];
    for (const chain of chains) {
      let before: Item | undefined;
      for (const [item] of this.recording.distinct(chain)) {
        if (before !== undefined) {
          graph.edge(before.index, item.index);
          owners.push(chain);
        }
        before = item;
      }
    }
    return { graph, owners };
  }
}
