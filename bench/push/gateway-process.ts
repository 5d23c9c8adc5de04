import type { SinkAddress, SinkCallName, SinkCalls, SinkKind, SinkReply } from './sink-calls.ts';

/** A gateway that takes all notifications, in a process of its own. */
export interface GatewayProcess extends SinkAddress, AsyncDisposable {
  readonly kind: SinkKind;
  readonly pid: number;
  /** Asks it to do one thing; throws what went wrong there. One call at a time. */
  call<Name extends SinkCallName>(
    name: Name,
    ask: SinkCalls[Name]['ask'],
  ): Promise<SinkCalls[Name]['answer']>;
}

/** Starts a gateway. `pin` is the command that holds it to its core, or empty. */
export async function startGateway(
  pin: readonly string[],
  kind: SinkKind,
  latencyMs = 0,
): Promise<GatewayProcess> {
  let settle: PromiseWithResolvers<SinkReply> | undefined;
  const child = Bun.spawn([...pin, process.execPath, `${import.meta.dir}/sink-process.ts`], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message: SinkReply) => settle?.resolve(message),
    onExit: (_child, code, signal) =>
      settle?.resolve({ fault: `the gateway ended with ${code ?? signal}` }),
  });
  const call: GatewayProcess['call'] = async (name, ask) => {
    settle = Promise.withResolvers();
    child.send({ name, ask });
    const message = await settle.promise;
    settle = undefined;
    if ('fault' in message) throw new Error(message.fault);
    // The process answers every call with the type that SinkCalls gives for it.
    return message.answer as SinkCalls[typeof name]['answer'];
  };
  const address = await call('start', { kind, latencyMs });
  return {
    ...address,
    kind,
    pid: child.pid,
    call,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
