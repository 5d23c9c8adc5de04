import type { ExportedDevice, ImportResult, ImportRow } from '../../../../push/device-moves.ts';
import type { PushInstance } from '../../../../push/model/instance.ts';
import { FieldFault, PushRefusal, refuseField } from '../../../../push/refusal.ts';
import {
  IMPORT_ROWS_MAX,
  type ReadImport,
  readImportName,
  readImport as readImportRequest,
} from '../../../../push/requests/import-request.ts';
import { hasMoreValues, readJsonObject } from '../../../../runtime/json-object.ts';
import type { PushAnswer, PushEndpoint } from '../../call.ts';
import type { EndpointContext } from '../context.ts';
import { HOST_FULL } from '../device/instance-full.ts';
import { InstanceRates } from '../request-rate.ts';
import { backendEndpoint } from './backend-endpoint.ts';

/** JSON values in a body: 200 for each row, of which most are interests. */
const VALUES_MAX = 200 * IMPORT_ROWS_MAX;

/** Devices of one page of an export. */
const PAGE_MAX = 1_000;
const PAGE = 100;

/** Devices that one request removes. */
const UNDONE_MAX = 1_000;

const REASONS = {
  'instance-full': 'the instance is full',
  'host-full': HOST_FULL.description,
  'user-full': 'the user has 100 devices on this platform',
} as const;

/** What a request says about one of its rows. */
interface ShownResult {
  readonly index: number;
  readonly status: ImportResult['status'];
  readonly id: string | null;
  readonly field?: string;
  readonly reason?: string;
}

/** `POST …/devices`: brings devices of another service. Each row has a result of its own. */
export function importDevices(context: EndpointContext): PushEndpoint {
  const { moves, guard, now, shareRate } = context;
  const rates = new InstanceRates('imported devices', shareRate);
  return backendEndpoint(context, 'small-json', (instance, { body }) => {
    const rate = {
      instance: instance.number,
      limit: instance.limits.importRowsPerSecond,
      nowMs: now(),
    };
    const refused = rates.refuseUncounted(rate);
    if (refused !== undefined) return refused;
    if (hasMoreValues(body, VALUES_MAX)) {
      return new PushRefusal('unprocessable', `The body has more than ${VALUES_MAX} values`);
    }
    const fields = readJsonObject(body);
    if (fields === undefined) {
      return new PushRefusal('bad-request', 'The body cannot be read as a JSON object');
    }
    const request = readImportRequest(fields, instance);
    if (request instanceof PushRefusal) return request;
    rates.count(rate, request.rows.length);
    const { devices: devicesMax, interests: interestsMax } = instance.limits;
    const valid = request.rows.filter((row): row is ImportRow => !(row instanceof FieldFault));
    return guard.ask(
      () =>
        moves.importRows({
          instance: instance.number,
          name: request.name,
          isDryRun: request.isDryRun,
          rows: valid,
          devicesMax,
          interestsMax,
          nowMs: now(),
        }),
      (results) => answerOf(request, results),
    );
  });
}

function answerOf({ name, isDryRun, rows }: ReadImport, stored: readonly ImportResult[]) {
  const left = stored[Symbol.iterator]();
  const results = rows.map((row, index) => {
    if (row instanceof FieldFault) return refusedRow(index, row);
    const { value } = left.next();
    return shownResult(index, value);
  });
  const counted = (status: ShownResult['status']) =>
    results.filter((result) => result.status === status).length;
  return {
    json: JSON.stringify({
      import: name,
      dryRun: isDryRun,
      created: counted('created'),
      updated: counted('updated'),
      unchanged: counted('unchanged'),
      refused: counted('refused'),
      results,
    }),
  };
}

function refusedRow(index: number, { field, reason }: FieldFault): ShownResult {
  return { index, status: 'refused', id: null, field, reason };
}

function shownResult(index: number, result: ImportResult | undefined): ShownResult {
  if (result === undefined) throw new Error('The store has given too few results');
  if (result.status === 'refused') {
    const field = result.why === 'user-full' ? 'userId' : '';
    return refusedRow(index, new FieldFault(field, REASONS[result.why]));
  }
  return { index, status: result.status, id: result.id ?? null };
}

/** `GET …/devices`: all devices with their tokens, page by page, in the form that an import takes. */
export function exportDevices(context: EndpointContext): PushEndpoint {
  const { moves, guard } = context;
  return backendEndpoint(context, 'nothing', ({ number }, { query }) => {
    const range = readRange(query);
    if (range instanceof PushRefusal) return range;
    return guard.ask(
      () => moves.exportRows({ instance: number, ...range }),
      ({ devices, next }): PushAnswer => ({
        text: `${JSON.stringify({
          devices: devices.map(shownDevice),
          next: next === undefined ? null : String(next),
        })}\n`,
        contentType: 'application/json',
        headers: { 'cache-control': 'no-store' },
      }),
    );
  });
}

function readRange(query: URLSearchParams) {
  const after = query.get('after') ?? '0';
  if (!/^\d{1,15}$/.test(after)) {
    return refuseField('bad-request', new FieldFault('after', 'must be `next` of the page before'));
  }
  const limit = query.get('limit') ?? String(PAGE);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_MAX) {
    const rule = `must be a whole number from 1 to ${PAGE_MAX}`;
    return refuseField('bad-request', new FieldFault('limit', rule));
  }
  return { after: Number(after), limit: Number(limit) };
}

function shownDevice(device: ExportedDevice) {
  const { id, platform, token, bundleId, kind, userId, interests } = device;
  const { language, timeZone, registeredAtMs, origin } = device;
  return {
    id,
    registeredAt: new Date(registeredAtMs).toISOString(),
    import: origin ?? null,
    platform,
    token: platform === 'web' ? JSON.parse(token) : token,
    bundleId,
    kind,
    userId,
    interests,
    language,
    timeZone,
  };
}

/** `GET …/imports/NAME`: its devices that no SDK has registered since. */
export function readImport(context: EndpointContext): PushEndpoint {
  const { moves, guard } = context;
  return namedEndpoint(context, ({ number }, name) =>
    guard.ask(
      () => moves.countImport({ instance: number, name }),
      ({ devices, accepted, platforms }) => ({
        json: JSON.stringify({ import: name, devices, accepted, ...platforms }),
      }),
    ),
  );
}

/** `DELETE …/imports/NAME`: removes some of them. To be repeated while there are more. */
export function undoImport(context: EndpointContext): PushEndpoint {
  const { moves, guard, rateLimitedLog } = context;
  return namedEndpoint(context, ({ id, number }, name) =>
    guard.ask(
      () => moves.undoImport({ instance: number, name, max: UNDONE_MAX }),
      ({ removed, more }) => {
        rateLimitedLog.info('Import undone', { instance: id }, { devices: removed });
        return { json: JSON.stringify({ removed, more }) };
      },
    ),
  );
}

function namedEndpoint(
  context: EndpointContext,
  answer: (instance: PushInstance, name: string) => ReturnType<PushEndpoint['answer']>,
): PushEndpoint {
  return backendEndpoint(context, 'nothing', (instance, { params }) => {
    const name = readImportName(params.name);
    return name instanceof FieldFault ? refuseField('bad-request', name) : answer(instance, name);
  });
}
