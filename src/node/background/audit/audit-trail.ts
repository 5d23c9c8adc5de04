import type { Operation } from '../../../admin/operation.ts';
import { hasRole } from '../../../admin/rights.ts';
import { isObject } from '../../../config/settings/plain-json.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import { LogThrottle } from '../../../runtime/logging/log-throttle.ts';
import { printable } from '../../../runtime/logging/printable.ts';
import type { Log } from '../../../runtime/ports.ts';
import { Recent } from '../../../runtime/recent.ts';
import { SortableIds } from '../../../runtime/sortable-ids.ts';
import type { AuditEntry, AuditRoom, AuditStore } from '../../../stores/admin/audit-store.ts';
import type { OperationCall } from './operation-call.ts';

/** The number of entries to keep. */
const ROOM: AuditRoom = { done: 10_000, refused: 500 };

/** Old entries are removed after this many new ones. */
const TRIM_AFTER = 100;

/**
 * The same action repeated within this time only increases the count of its entry, so that a script that sends events
 * does not push out all other entries.
 */
const SAME_MS = 60_000;

/** The number of entries of each kind whose count can still increase. */
const OPEN_MAX = 100;

const TEXT_MAX = 200;

const REPLAYS_PATH = '/webhook-replays';

export interface AuditTrailOptions {
  readonly store: Pick<AuditStore, 'add' | 'trim' | 'list'>;
  readonly log: Log;
  readonly clock: { now(): number };
}

interface Done {
  readonly call: Pick<OperationCall, 'caller' | 'sender' | 'path' | 'query' | 'body'>;
  readonly status: number;
  readonly answer?: unknown;
}

interface Refused extends Omit<Done, 'answer'> {
  /** The app, instance or webhook that it was meant for, if that exists. */
  readonly subject: string | undefined;
}

/** Entries whose count can still increase, oldest first. */
type Open = Recent<string, AuditEntry>;

/**
 * Records who did what through the admin API: changes, log-ins and secrets that were shown. Records ids and names of
 * settings, but no values. Requests do not wait for the entry, and succeed even if it cannot be written.
 */
export class AuditTrail {
  private readonly options: AuditTrailOptions;
  private readonly throttle: LogThrottle;
  private readonly done: Open = new Recent(OPEN_MAX);
  private readonly refused: Open = new Recent(OPEN_MAX);
  private readonly ids = new SortableIds();
  private writing: Promise<void>;
  private untrimmed = TRIM_AFTER;

  constructor(options: AuditTrailOptions) {
    this.options = options;
    this.throttle = new LogThrottle(options.clock);
    this.writing = this.followNewest();
  }

  /** Records an action, if it is of a recorded kind. */
  note(operation: Operation, done: Done): void {
    if (!isNoted(operation, done)) return;
    this.add(this.done, this.entryOf(operation, done));
  }

  /** Records that an action was refused, if it is of a recorded kind. Keeps no text that the caller could make up. */
  noteRefused(operation: Operation, { subject = '', ...refused }: Refused): void {
    if (!isNoted(operation, refused)) return;
    const entry = this.entryOf(operation, refused);
    this.add(this.refused, { ...entry, subject: short(subject), detail: '' });
  }

  /** Settles when all earlier entries are written. */
  async settled(): Promise<void> {
    await this.writing;
  }

  private entryOf(operation: Operation, done: Done): AuditEntry {
    const nowMs = this.options.clock.now();
    return { id: this.ids.next(nowMs), ...describe(operation, done, nowMs) };
  }

  /** New entries must not count as the oldest if the clock was set back before the start. */
  private async followNewest(): Promise<void> {
    try {
      const [newest] = await this.options.store.list({ limit: 1, before: undefined });
      if (newest !== undefined) this.ids.follow(newest.id);
    } catch {
      // The next entry reports that the store fails.
    }
  }

  private add(open: Open, entry: AuditEntry): void {
    this.writing = this.write(countedAgain(open, entry));
  }

  private async write(entry: AuditEntry): Promise<void> {
    const { store, log } = this.options;
    const earlier = this.writing;
    try {
      await store.add(entry);
      if (this.untrimmed++ >= TRIM_AFTER) {
        this.untrimmed = 0;
        await store.trim(ROOM);
      }
    } catch (error) {
      const why = messageOf(error);
      this.throttle.run('audit', (throttled) =>
        log.warn('Audit entry cannot be written', {
          operation: entry.operation,
          why,
          ...throttled,
        }),
      );
    }
    await earlier;
  }
}

/** The open entry of the same action with one more repetition, or else the new entry, which is open from now on. */
function countedAgain(open: Open, entry: AuditEntry): AuditEntry {
  const { user, how, address, operation, subject, detail, status } = entry;
  const key = JSON.stringify([user, how, address, operation, subject, detail, status]);
  const before = open.get(key);
  if (before !== undefined && entry.lastAtMs - before.firstAtMs < SAME_MS) {
    return { ...before, lastAtMs: entry.lastAtMs };
  }
  open.set(key, entry);
  return entry;
}

/**
 * Records everything but reads, and also reads that show secrets. Of the actions that need no log-in, only log-ins
 * themselves.
 */
function isNoted({ id, method, role, open }: Operation, { call, status }: Done): boolean {
  if (open) return id === 'logIn' && status < 400;
  const changes = method !== 'GET' && hasRole(role, 'operator');
  return changes || call.query['secrets'] === 'true';
}

function describe(
  { id, path, method }: Operation,
  done: Done,
  nowMs: number,
): Omit<AuditEntry, 'id'> {
  const { call, status, answer } = done;
  const { user, how } = call.caller;
  const made = isObject(answer) ? answer['id'] : undefined;
  const publish = call.path.of('publish');
  const detail =
    method === 'GET'
      ? ['secrets']
      : [
          ...(publish === '' ? [] : [publish]),
          ...(isObject(call.body) ? Object.keys(call.body) : []),
        ];
  return {
    firstAtMs: nowMs,
    lastAtMs: nowMs,
    times: 1,
    user: short(user ?? ''),
    // A caller who has just logged in was anonymous when the request came.
    how: how === 'nobody' ? 'password' : how,
    address: short(call.sender.address),
    operation: id,
    subject: short(
      call.path.of('id') ||
        (typeof made === 'string' ? made : (ownerOf(path, call.body)?.id ?? '')),
    ),
    // The body of a log-in contains nothing but the password.
    detail: path === '/session' ? '' : short(detail.join(', ')),
    status,
  };
}

/** The app or instance whose webhooks a call sends again. */
export function ownerOf(
  path: string,
  body: unknown,
): { readonly kind: 'app' | 'instance'; readonly id: string } | undefined {
  if (path !== REPLAYS_PATH || !isObject(body)) return undefined;
  const { app, instance } = body;
  if (typeof app === 'string') return { kind: 'app', id: app };
  return typeof instance === 'string' ? { kind: 'instance', id: instance } : undefined;
}

function short(text: string): string {
  const shown = printable(text);
  return shown.length <= TEXT_MAX ? shown : `${shown.slice(0, TEXT_MAX - 1)}…`;
}
