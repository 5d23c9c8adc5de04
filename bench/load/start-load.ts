import type { CallName, LoadAnswer, LoadCalls } from './calls.ts';

/** A load generator in a process of its own. */
export interface LoadProcess extends AsyncDisposable {
  readonly pid: number;
  /** Asks it to do one thing; throws what went wrong there. One call at a time. */
  call<Name extends CallName>(
    name: Name,
    ask: LoadCalls[Name]['ask'],
  ): Promise<LoadCalls[Name]['answer']>;
}

/** Starts a load generator. `pin` is the command that holds it to its core, or empty. */
export function startLoad(pin: readonly string[]): LoadProcess {
  let settle: PromiseWithResolvers<LoadAnswer> | undefined;
  const child = Bun.spawn([...pin, process.execPath, `${import.meta.dir}/process.ts`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message: LoadAnswer) => settle?.resolve(message),
    onExit: (_child, code, signal) =>
      settle?.resolve({ fault: `the load generator ended with ${code ?? signal}` }),
  });

  return {
    pid: child.pid,
    async call<Name extends CallName>(name: Name, ask: LoadCalls[Name]['ask']) {
      settle = Promise.withResolvers();
      child.send({ name, ask });
      const message = await settle.promise;
      settle = undefined;
      if ('fault' in message) throw new Error(message.fault);
      // The process answers every call with the type that LoadCalls gives for it.
      return message.answer as LoadCalls[Name]['answer'];
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
