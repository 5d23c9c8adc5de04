import type { z } from 'zod';
import { publishState, type shownPublish } from '../../admin/push/publish-shapes.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { SERVER_OPTIONS, serverCommand } from '../channels/running-server.ts';
import { countOf, printList, printResult } from '../invocation.ts';
import { choiceOf, JSON_OPTION, type Option, operandsOf } from '../options.ts';

const STATES = publishState.options;

export const PUSH_LIST_OPTIONS: readonly Option[] = [
  { name: 'state', value: 'STATE', help: `Only publishes in this state: ${STATES.join(', ')}.` },
  ...SERVER_OPTIONS,
  JSON_OPTION,
];

/** The server lists no more at once. */
const LISTED_MAX = 200;

type Publish = z.output<typeof shownPublish>;

/** `fanfare push list`: shows the newest 200 publishes of an instance of a running server. */
export const listPublishes = serverCommand(async (call) => {
  const [instance] = operandsOf(call.given, ['INSTANCE']);
  const state = choiceOf(call.given, { option: 'state', values: STATES });
  const publishes: Publish[] = [];
  let next: string | null = null;
  // A search for a state may need several questions to find anything.
  do {
    const query = new URLSearchParams({
      limit: String(LISTED_MAX - publishes.length),
      ...(state === undefined ? {} : { state }),
      ...(next === null ? {} : { before: next }),
    });
    const path = `/instances/${encodeURIComponent(instance)}/publishes?${query}`;
    const body = await call.api.ask('GET', path);
    const found = body as { readonly publishes: readonly Publish[]; readonly next: string | null };
    publishes.push(...found.publishes);
    next = found.next;
  } while (next !== null && publishes.length < LISTED_MAX);
  return printList(call, publishes, {
    json: (publish) => publish,
    line: describe,
    none: `No publish${state === undefined ? '' : ` is ${state}`}.`,
  });
});

/** `fanfare push cancel`: cancels what has not been sent yet of a publish. */
export const cancelPublish = serverCommand(async (call) => {
  const [instance, publish] = operandsOf(call.given, ['INSTANCE', 'PUBLISH-ID']);
  const path = `/instances/${encodeURIComponent(instance)}/publishes/${encodeURIComponent(publish)}`;
  const body = await call.api.ask('POST', `${path}/cancel`);
  const { id, cancelled } = body as { readonly id: string; readonly cancelled: boolean };
  const text = cancelled ? `Publish ${id} was cancelled.` : `Publish ${id} was over already.`;
  return printResult(call, { json: body, text: printable(text) });
});

function describe({ id, state, target, createdAtMs, devices }: Publish): string {
  const { kind, count, names } = target;
  const whom = names?.join(', ') ?? countOf(count ?? 0, kind.replace(/s$/, ''));
  const reached = `${devices.accepted}/${devices.planned}`;
  const time = new Date(createdAtMs).toISOString();
  return printable(`${id}  ${time}  ${state.padEnd(10)}  ${reached.padStart(9)}  ${whom}`);
}
