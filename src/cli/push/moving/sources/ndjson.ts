import { isJsonObject, type JsonObject, parseJsonObject } from '../../../../runtime/json-object.ts';
import { device, refused, type SourceRow } from './source-row.ts';
import { linesOf } from './text-source.ts';

/** What an export says about a device beyond what an import takes. */
const OF_EXPORT = ['id', 'registeredAt', 'import'];

/** Reads what `fanfare devices export` writes: a JSON object per line. */
export async function* readExport(text: AsyncIterable<string>): AsyncGenerator<SourceRow> {
  yield* readObjects(text, (row) =>
    device(Object.fromEntries(Object.entries(row).filter(([name]) => !OF_EXPORT.includes(name)))),
  );
}

/** Reads a push subscription per line, alone or as `subscription` of an object with `userId` and `interests`. */
export async function* readSubscriptions(text: AsyncIterable<string>): AsyncGenerator<SourceRow> {
  yield* readObjects(text, ({ subscription, ...more }) => {
    if (subscription === undefined) return device({ platform: 'web', token: more });
    return isJsonObject(subscription)
      ? device({ ...more, platform: 'web', token: subscription })
      : refused('subscription', 'must be an object');
  });
}

async function* readObjects(
  text: AsyncIterable<string>,
  read: (object: JsonObject) => SourceRow,
): AsyncGenerator<SourceRow> {
  for await (const line of linesOf(text)) {
    if (line.trim() === '') continue;
    const object = parseJsonObject(line);
    yield object === undefined ? refused('', 'must be a JSON object on one line') : read(object);
  }
}
