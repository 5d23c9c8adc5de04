/** What applications bind. What it is given depends on the event. */
// biome-ignore lint/suspicious/noExplicitAny: handlers of applications declare the data that they expect
export type Handler = (...args: any[]) => unknown;

/** What a handler learns about an event beside its data. */
export interface Metadata {
  /** Who sent a client event on a presence channel. */
  user_id?: string;
  /** Where the server keeps a history: the place of the event in its channel. */
  id?: string;
}

interface Binding {
  readonly fn: Handler;
  readonly context: unknown;
}

/** Settles with the next of some events: with what `read` makes of its data, or with what it throws. */
export function nextOf<Value>(
  emitter: Emitter,
  events: readonly string[],
  read: (data: unknown) => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const done = (data: unknown) => {
      for (const event of events) emitter.unbind(event, done);
      try {
        resolve(read(data));
      } catch (error) {
        reject(error);
      }
    };
    for (const event of events) emitter.bind(event, done);
  });
}

/** Hands events to handlers by name: global handlers first, then the others, each in the order of binding. */
export default class Emitter {
  callbacks = new Map<string, Binding[]>();
  global_callbacks: Handler[] = [];
  declare failThrough: ((name: string, data?: unknown) => void) | undefined;

  /** `failThrough` is called for an event without handlers. */
  constructor(failThrough?: (name: string, data?: unknown) => void) {
    this.failThrough = failThrough;
  }

  bind(name: string, fn: Handler, context?: unknown): this {
    const bindings = this.callbacks.get(name);
    if (bindings) bindings.push({ fn, context });
    else this.callbacks.set(name, [{ fn, context }]);
    return this;
  }

  bind_global(fn: Handler): this {
    this.global_callbacks.push(fn);
    return this;
  }

  /** Removes the handlers that fit everything that is given. */
  unbind(name?: string | null, fn?: Handler | null, context?: unknown): this {
    for (const [key, bindings] of this.callbacks) {
      if (name && name !== key) continue;
      const kept = bindings.filter(
        (one) => (fn && fn !== one.fn) || (context && context !== one.context),
      );
      if (kept[0]) this.callbacks.set(key, kept);
      else this.callbacks.delete(key);
    }
    return this;
  }

  unbind_global(fn?: Handler): this {
    this.global_callbacks = this.global_callbacks.filter((one) => fn && fn !== one);
    return this;
  }

  unbind_all(): this {
    return this.unbind().unbind_global();
  }

  /** Runs every handler. If some of them throw, the first error is thrown on afterwards. */
  emit(name: string, data?: unknown, metadata?: Metadata): this {
    const errors: unknown[] = [];
    const call = (fn: Handler, context: unknown, args: readonly unknown[]) => {
      try {
        fn.apply(context, args as unknown[]);
      } catch (error) {
        errors.push(error);
      }
    };
    for (const fn of this.global_callbacks) call(fn, this, [name, data]);
    const bindings = this.callbacks.get(name);
    const args = metadata ? [data, metadata] : data ? [data] : [];
    if (bindings) for (const { fn, context } of bindings) call(fn, context || globalThis, args);
    else this.failThrough?.(name, data);
    if (errors.length) throw errors[0];
    return this;
  }
}
