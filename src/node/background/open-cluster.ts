import { type AskByName, ClusterAsker } from '../../asking/asker.ts';
import type { Installation } from '../../asking/facts/servers.ts';
import { OtherServers } from '../../asking/other-servers.ts';
import { OwnAnswers } from '../../asking/own-answers.ts';
import type { Log } from '../../runtime/ports.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import { type ServerAnswersOptions, serverAnswers } from './answers.ts';
import { Strangers } from './cluster/strangers.ts';

export interface OpenClusterOptions extends ServerAnswersOptions {
  /** Finds out what this server belongs to. */
  readonly installation: () => Promise<Installation | undefined>;
  readonly log: Log;
}

/** This server's view of the cluster. */
export interface ClusterPart extends Disposable {
  readonly ask: AskByName;
  /** Handles a message from a loop of another server. Returns `false` if it is for others or cannot be read. */
  receive(from: string, text: string): boolean;
  /** Announces this server to the others, which may ask it from then on, and notices if one of them fails. */
  begin(): void;
}

export function openCluster(options: OpenClusterOptions): ClusterPart {
  const { facts, realtime, installation, log } = options;
  const { name: node, engine, store } = facts();
  const strangers: Strangers = new Strangers({
    own: installation,
    ask: async (name) => installationIn(await others?.askOne(name, 'here', {})),
    timers: systemTimers,
    log,
  });
  const answers = serverAnswers(options, {
    async meet(name, said) {
      // Not awaited: the asking server waits for the answer.
      if (name !== undefined) void strangers.meet(name, said);
      return await installation();
    },
    strangers() {
      const running = others && new Set(others.list().map(({ name }) => name));
      return running && strangers.list().filter((one) => running.has(one.node));
    },
  });
  const own = new OwnAnswers(realtime, answers);
  const others =
    engine === 'redis'
      ? new OtherServers({
          node,
          timers: systemTimers,
          log,
          // One loop represents this server.
          send: (to, text) => realtime.ask('notify-servers', { to, text }),
          answer: (question, from) => own.toServer(question, from),
        })
      : undefined;
  return {
    ask: new ClusterAsker({
      node,
      loops: realtime,
      own,
      others,
      sharesStore: store === 'postgresql',
      clock: systemTimers,
    }),
    receive: (from, text) => others?.receive(from, text) === true,
    begin() {
      // From then on the servers know each other, so a failed one is noticed.
      if (others === undefined) return;
      void introduce(others, strangers, installation);
      others.watch();
    },
    [Symbol.dispose]: () => others?.[Symbol.dispose](),
  };
}

/** Tells the other servers what this one belongs to, and learns the same of them. */
async function introduce(
  others: OtherServers,
  strangers: Strangers,
  installation: OpenClusterOptions['installation'],
): Promise<void> {
  const { answers } = await others.ask('here', { installation: await installation() });
  for (const { node, answer } of answers) await strangers.meet(node, installationIn(answer));
}

function installationIn(answer: unknown): unknown {
  return Object(answer).installation;
}
