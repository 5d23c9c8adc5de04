import { messageOf } from '../../src/runtime/error-code.ts';

/** The calls of a process by name, with their results. */
type Calls = Record<string, { ask: unknown; answer: unknown }>;

/** One call as it travels to the process. */
export type Call<Asked extends Calls> = {
  [Name in keyof Asked]: { name: Name; ask: Asked[Name]['ask'] };
}[keyof Asked];

type Reply = { answer: unknown } | { fault: string };

/** A child process that is called over IPC. */
export interface CalledProcess<Asked extends Calls> extends AsyncDisposable {
  readonly pid: number;
  /** Asks the process to do one thing. Throws the error that it reports. One call at a time. */
  call<Name extends keyof Asked>(
    name: Name,
    ask: Asked[Name]['ask'],
  ): Promise<Asked[Name]['answer']>;
}

/** Starts a program that runs `answerCalls`. `pin` is the command that binds it to its core, or empty. */
export function startCalled<Asked extends Calls>(
  pin: readonly string[],
  file: string,
): CalledProcess<Asked> {
  let settle: PromiseWithResolvers<Reply> | undefined;
  const child = Bun.spawn([...pin, process.execPath, file], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message: Reply) => settle?.resolve(message),
    onExit: (_child, code, signal) =>
      settle?.resolve({ fault: `${file} ended with ${code ?? signal}` }),
  });
  return {
    pid: child.pid,
    async call(name, ask) {
      settle = Promise.withResolvers();
      child.send({ name, ask });
      const reply = await settle.promise;
      settle = undefined;
      if ('fault' in reply) throw new Error(reply.fault);
      // The program answers each call with the type that `Asked` gives for it.
      return reply.answer as Asked[typeof name]['answer'];
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** Answers the calls of the parent until the parent ends. */
export function answerCalls<Asked extends Calls>(
  answer: (call: Call<Asked>) => Promise<Asked[keyof Asked]['answer']>,
): void {
  const reply = (message: Reply) => process.send?.(message);
  process.on('message', (call: Call<Asked>) => {
    answer(call).then(
      (value) => reply({ answer: value }),
      (error) => reply({ fault: messageOf(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
