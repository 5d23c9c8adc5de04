import { startHandshakeGuard } from './handshake-guard.ts';
import type { GuardedListener } from './handshake-sweep.ts';

/** What the test tells the worker. */
export type ToGuard =
  | {
      readonly type: 'start';
      readonly listeners: readonly GuardedListener[];
      readonly limitPerAddress: number;
    }
  | { readonly type: 'answer'; readonly ask: number; readonly ports: readonly number[] };

/** What the worker tells the test. */
export type FromGuard =
  | { readonly type: 'round' }
  | { readonly type: 'ask'; readonly ask: number; readonly address: string }
  | { readonly type: 'refused'; readonly address: string; readonly count: number }
  | { readonly type: 'failed'; readonly why: string };

declare const self: Worker;

const tell = (message: FromGuard) => self.postMessage(message);
const asks: ((ports: readonly number[]) => void)[] = [];

self.addEventListener('message', ({ data }: MessageEvent<ToGuard>) => {
  switch (data.type) {
    case 'start':
      startHandshakeGuard({
        listeners: data.listeners,
        limitPerAddress: data.limitPerAddress,
        finishedCount: () => {
          tell({ type: 'round' });
          return 0;
        },
        finishedPorts: (address) =>
          new Promise((answer) => {
            tell({ type: 'ask', ask: asks.push(answer) - 1, address });
          }),
        refused: (address, count) => tell({ type: 'refused', address, count }),
        failed: (error) => tell({ type: 'failed', why: String(error) }),
      });
      return;
    case 'answer':
      asks[data.ask]?.(data.ports);
      return;
    default:
      data satisfies never;
  }
});
