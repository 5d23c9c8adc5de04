import type { Log } from '../../../src/runtime/ports.ts';
import type { Context } from '../kernel/context.ts';

/** A process, as far as its threads know it. */
export interface ThreadHost {
  readonly log: Log;
  /** Makes the context of another thread. */
  addThread(name: string): Context;
}

const hosts = new WeakMap<Context, ThreadHost>();

/** Notes which process a context belongs to. */
export function setHost(context: Context, host: ThreadHost): void {
  hosts.set(context, host);
}

export function hostOf(context: Context): ThreadHost {
  const host = hosts.get(context);
  if (host === undefined) throw new Error(`${context.name} is no server`);
  return host;
}
