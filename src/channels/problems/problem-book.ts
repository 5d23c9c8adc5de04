import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { App } from '../app.ts';

/** The limits of groups: per app, and for all apps. */
const GROUPS_OF_APP_MAX = 256;
const GROUPS_MAX = 8_192;

/**
 * When an app has too many groups, the one with the fewest problems is dropped, chosen among this many that were seen
 * least recently.
 */
const COMPARED = 8;

/** The limit of characters kept of a text. */
const TEXT_MAX = 300;

/** A problem, and the party that caused it. */
export interface Problem {
  /** client: on an open connection. connection: it was refused or closed. backend: a request to the HTTP API. */
  readonly source: 'client' | 'connection' | 'backend';
  /** The name of the broken rule. */
  readonly kind: string;
  /** The error text that the client or backend received. */
  readonly text: string;
  /** What the group is called; left out: what its texts have in common. */
  readonly title?: string | undefined;
  readonly advice: string;
  readonly socket?: string | undefined;
  readonly user?: string | undefined;
  readonly address?: string | undefined;
  /** The path of the request, if it is a problem of one. */
  readonly path?: string | undefined;
}

/**
 * The limit of an app's problems that are examined per second. Beyond it, only their kinds are counted: examining
 * takes 10 µs.
 */
const READ_PER_SECOND = 50;

/** A group of similar problems. */
export interface ProblemGroup {
  readonly source: Problem['source'];
  readonly kind: string;
  /** What is wrong: a title, or the text that these problems have in common, where `…` replaces the parts that differ. */
  readonly text: string;
  readonly advice: string;
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** The last problem, without signatures, secrets and signed data. */
  readonly example: Pick<Problem, 'text' | 'socket' | 'user' | 'address' | 'path'>;
}

type Group = Omit<ProblemGroup, 'count' | 'lastAtMs'> & { count: number; lastAtMs: number };

/** The problems of an app that were examined in this second. */
interface ReadNow {
  count: number;
  /** The last group of each source and kind. */
  readonly lastKeys: Map<string, string>;
}

/** Remembers the problems of clients and backends of each app, in groups. What strangers cause is bounded. */
export class ProblemBook {
  private readonly clock: Clock;
  /** By app and group. The least recently seen group comes first. */
  private readonly apps = new Map<string, Map<string, Group>>();
  private readonly budget = new FairBudget<string>(GROUPS_MAX);
  /** The present second, and what was examined in it, by app. */
  private second = 0;
  private read = new Map<string, ReadNow>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  note(app: App, problem: Problem): void {
    const nowMs = this.clock.now();
    const read = this.readNow(app, nowMs);
    const { source, kind } = problem;
    const name = `${source} ${kind}`;
    const lastKey = read.lastKeys.get(name);
    const last = lastKey === undefined ? undefined : this.apps.get(app.id)?.get(lastKey);
    if (read.count >= READ_PER_SECOND && last !== undefined) {
      last.count++;
      last.lastAtMs = nowMs;
      return;
    }
    read.count++;
    read.lastKeys.set(name, this.put(app, problem, nowMs));
  }

  /** Latest first. */
  of(appId: string): readonly ProblemGroup[] {
    return [...(this.apps.get(appId)?.values() ?? [])].reverse();
  }

  /** Forgets the problems of a deleted app. */
  forget(appId: string): void {
    this.budget.release(appId, this.apps.get(appId)?.size ?? 0);
    this.apps.delete(appId);
    this.read.delete(appId);
  }

  private readNow({ id }: App, nowMs: number): ReadNow {
    const second = Math.floor(nowMs / 1_000);
    if (second !== this.second) {
      this.second = second;
      this.read = new Map();
    }
    let read = this.read.get(id);
    if (read === undefined) {
      read = { count: 0, lastKeys: new Map() };
      this.read.set(id, read);
    }
    return read;
  }

  /** Adds a problem to its group, and returns the key of the group. */
  private put(app: App, problem: Problem, nowMs: number): string {
    const { source, kind, advice, socket, user, address, path } = problem;
    const shown = withoutSecrets(app, problem.text.slice(0, TEXT_MAX));
    const text = problem.title ?? inCommon(shown);
    const key = `${source} ${kind} ${text}`;
    const groups = this.apps.get(app.id) ?? new Map<string, Group>();
    const before = groups.get(key);
    if (before === undefined) this.makeRoom(app.id, groups);
    else groups.delete(key);
    this.apps.set(app.id, groups);
    groups.set(key, {
      source,
      kind,
      text,
      advice,
      count: (before?.count ?? 0) + 1,
      firstAtMs: before?.firstAtMs ?? nowMs,
      lastAtMs: nowMs,
      example: { text: shown, socket, user, address, path: path?.slice(0, TEXT_MAX) },
    });
    return key;
  }

  private makeRoom(appId: string, groups: ReadonlyMap<string, Group>): void {
    if (groups.size >= GROUPS_OF_APP_MAX) this.forgetOne(appId);
    const yielding = this.budget.ownerToEvict(appId);
    if (yielding !== undefined) this.forgetOne(yielding);
    this.budget.add(appId);
  }

  private forgetOne(appId: string): void {
    const groups = this.apps.get(appId);
    let least: readonly [key: string, group: Group] | undefined;
    for (const entry of groups?.entries().take(COMPARED) ?? []) {
      if (least === undefined || entry[1].count < least[1].count) least = entry;
    }
    if (least === undefined) return;
    groups?.delete(least[0]);
    this.budget.release(appId);
    if (groups?.size === 0) this.apps.delete(appId);
  }
}

/** Leaves out what must not be shown: secrets that stand in a wrong place, signatures, and signed data of users. */
function withoutSecrets({ keys }: App, text: string): string {
  let shown = text.replace(/\{.*\}/s, '{…}').replace(/\{(?!…\}).*$/s, '{…');
  for (const { secret } of keys) shown = shown.replaceAll(secret, '…');
  return shown.replace(/[\da-f]{32,}/gi, '…');
}

/** The fields of the protocol and of settings, which tell what is wrong. */
const FIELD =
  /^["'`]?(?:auth_(?:key|signature|timestamp|version)|body_md5|socket_id|user_(?:id|data|info|count)|channel_data|subscription_count|filter_by_prefix|(?:limits|channels)\.[a-z]+)["'`]?[.,:;)]*$/i;

/** Replaces the words that vary: names, numbers and quoted text. */
function inCommon(text: string): string {
  return text
    .replace(/\S+/g, (word) =>
      /^[a-z'’-]+[.,:;)]*$|^[(]?[a-z]+[)]?$/i.test(word) || FIELD.test(word) ? word : '…',
    )
    .replace(/…(?:\s+…)+/g, '…');
}
