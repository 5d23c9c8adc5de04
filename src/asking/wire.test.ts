import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import { OtherServers } from './other-servers.ts';
import { type AskLoops, OwnAnswers } from './own-answers.ts';
import {
  type ClusterQuestion,
  isOfCluster,
  type QueryOf,
  questions,
  type ServerAnswers,
} from './questions.ts';

/**
 * The questions with their answers, as released servers send them to each other: 0.1.0, and from `key-uses` on the servers after
 * it. Recorded from these versions. They never change; new questions are added at the end.
 */
const recorded: readonly (readonly [question: string, answer: string])[] = [
  [
    '{"what":"report"}',
    '{"version":"0.1.0","startedAtMs":1,"threads":[{"name":"realtime","lateMs":1}],"engine":{"type":"redis"},"notReady":[],"bad":0,"warn":0}',
  ],
  [
    '{"what":"conditions"}',
    '{"checkedAtMs":5,"checked":12,"conditions":[{"id":"slow","level":"warn","text":"t","advice":"a","sinceMs":4}]}',
  ],
  [
    '{"what":"figures","sinceMs":1795518000000}',
    '{"nowMs":1795523400000,"stepMs":10000,"fromMs":1795523400000,"series":{"connections":[1],"deliveredPerSecond":[1],"eventsPerSecond":[1],"loopLateMs":[1],"memoryBytes":[1],"webhooksWaiting":[1],"pushWaiting":[1],"resumedPerSecond":[1],"gapsPerSecond":[1]}}',
  ],
  [
    '{"what":"problems","appId":"1"}',
    '[{"source":"client","kind":"k","text":"t","advice":"a","count":2,"firstAtMs":1,"lastAtMs":2,"example":{"text":"x"}}]',
  ],
  [
    '{"what":"log","level":"info","text":"x","showsAddresses":true,"limit":10}',
    '{"lines":[{"n":1,"atMs":3,"level":"info","message":"m","fields":{}}],"more":false}',
  ],
  [
    '{"what":"gateways","instanceId":"i"}',
    '{"pauses":[],"morePauses":{"apns":0,"fcm":0,"web":0},"said":{"apns":{"acceptedAtMs":7},"fcm":{},"web":{}}}',
  ],
  [
    '{"what":"endpoints","ownerId":"1"}',
    '[{"kind":"channels","ownerId":"1","endpoint":"e","url":"https://x/","delivered":1,"failed":0,"lastAtMs":2,"lastOutcome":"delivered","durations":[1],"waiting":0}]',
  ],
  [
    '{"what":"endpoints"}',
    '[{"kind":"channels","ownerId":"1","endpoint":"e","url":"https://x/","delivered":1,"failed":0,"lastAtMs":2,"lastOutcome":"delivered","durations":[1],"waiting":0}]',
  ],
  ['{"what":"here"}', '{"installation":{"store":"s"}}'],
  [
    '{"what":"connection","appId":"1","socketId":"1.2"}',
    '{"socketId":"1.2","address":"192.0.2.1","transport":"websocket","openedAtMs":1,"heardAtMs":2,"waitingBytes":0,"channels":1,"channelNames":["c"],"watching":0}',
  ],
  ['{"what":"end","appId":"1","socketId":"1.2"}', 'true'],
  [
    '{"what":"key-uses","tenant":{"kind":"app","id":"1"}}',
    '{"sinceMs":5,"keys":[{"key":"k","lastAtMs":{"request":7},"connections":1}]}',
  ],
  ['{"what":"alive"}', 'true'],
  [
    '{"what":"connections","appId":"1","limit":20,"after":"0.7"}',
    '{"connections":[{"socketId":"1.2","address":"192.0.2.1","transport":"websocket","openedAtMs":1,"heardAtMs":2,"waitingBytes":0,"channels":1}],"next":"0.7"}',
  ],
  [
    '{"what":"sources"}',
    '[{"source":0,"url":"postgres://***@db/shop","schema":"fanfare","app":"1","instance":null,"state":"following","lagSeconds":0,"waiting":0,"failed":1,"lastFailure":"400 name: required","why":""}]',
  ],
  ['{"what":"memory"}', '[{"share":"connections","usedBytes":8704,"mostBytes":155200000}]'],
];

const envelope = { form: 2, node: 'b:6001' } as const;

interface Recorded {
  readonly what: ClusterQuestion;
}

const cases = recorded.map(([text, answer]) => {
  const { what, ...query } = JSON.parse(text) as Recorded;
  return { what, query, text, answer };
});

/** A server whose loops and whose background loop know what was recorded. It keeps what it sends. */
function stage() {
  const time = new FakeTime();
  const sent: string[] = [];
  const known = new Map(cases.map((one) => [JSON.stringify([one.what, one.query]), one.answer]));
  const answerOf = (what: string, query: object) =>
    JSON.parse(known.get(JSON.stringify([what, query])) ?? 'null');
  const loops: AskLoops = {
    count: 1,
    ask: async () => undefined as never,
    askAll: async (what, query) => [answerOf(what, query)] as never,
  };
  const answers = Object.fromEntries(
    cases.map(({ what }) => [what, (query: object) => answerOf(what, query)]),
  );
  const own = new OwnAnswers(loops, answers as unknown as ServerAnswers);
  const server = new OtherServers({
    node: 'a:6001',
    timers: time,
    log: { info: () => undefined, warn: () => undefined },
    async send(_to, text) {
      sent.push(text);
      return 1;
    },
    answer: (question, from) => own.toServer(question, from),
  });
  return { server, sent, time };
}

describe('servers of two releases', () => {
  it.each(cases)('understand each other: $text', async ({ what, query, text, answer }) => {
    const { server, sent, time } = stage();
    // The older one asks.
    const ask = `{"type":"ask","number":7,"question":${text},"form":2,"node":"b:6001"}`;
    expect(server.receive('loop-b', ask)).toBe(true);
    await time.advance(0);
    const tail = '"form":2,"node":"a:6001"}';
    expect(sent).toEqual([`{"type":"answer","number":7,"answer":${answer},${tail}`]);
    // The older one is asked.
    sent.length = 0;
    const asked = server.ask(what, query as QueryOf<ClusterQuestion>);
    expect(sent).toEqual([`{"type":"ask","number":1,"question":${text},${tail}`]);
    const reply = { type: 'answer', number: 1, answer: JSON.parse(answer), ...envelope };
    server.receive('loop-b', JSON.stringify(reply));
    expect((await asked).answers).toEqual([{ node: 'b:6001', answer: JSON.parse(answer) }]);
  });

  it('have a recording of each question', () => {
    const asked = Object.keys(questions).filter(isOfCluster);
    expect(asked.toSorted()).toEqual([...new Set(cases.map(({ what }) => what))].toSorted());
  });
});
