import { METHODS as KNOWN_METHODS } from 'node:http';
import { saysClose } from '../../../refused-body.ts';
import { HEAD_BYTES_MAX } from '../../bounds.ts';

/** Why bytes are not a request. */
export type HttpFault =
  | 'method'
  | 'target'
  | 'version'
  | 'request'
  | 'tunnel'
  | 'header'
  | 'length'
  | 'encoding'
  | 'chunk'
  | 'incomplete'
  | 'head-too-large';

/** How the end of a body is found. */
export type BodyFraming = 'chunks' | { readonly bytes: number };

/** Everything of a request but its body. */
export interface RequestHead {
  readonly method: string;
  /** As it was sent. */
  readonly target: string;
  /** HTTP/1.1, and not 1.0. */
  readonly isCurrent: boolean;
  /** By name in lower case. The values of a name that comes several times are joined with commas, but of some the first counts. */
  readonly headers: ReadonlyMap<string, string>;
  readonly framing: BodyFraming;
  /** Whether the client sends the body only after `100 Continue`. */
  readonly expectsContinue: boolean;
  /** Whether the client sends no further request. */
  readonly isLast: boolean;
}

/** The head of a request, and where its body begins. */
export interface FoundHead {
  readonly head: RequestHead;
  readonly end: number;
}

/**
 * A path answers 405 to those that it does not accept. PRI begins a connection of HTTP/2: its version is refused, which says more
 * than an unknown method would.
 */
const METHODS = new Set([...KNOWN_METHODS, 'PRI']);

/** The longest method, and the space behind it. */
const METHOD_BYTES_MAX = Math.max(...KNOWN_METHODS.map(({ length }) => length)) + 1;

const HEADERS_MAX = 198;

/** Printable ASCII without the space. */
const TARGET = /^[\x21-\x7e]+$/;

/** A name of a header. Source: RFC 9110, §5.6.2. */
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;

/** What a value must not contain: above all a lone CR or LF, which others may take for the end of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

/** Fields that may come once: they say where a request ends, or whom it is for, and two of them can be read in two ways. */
const ONCE = new Set(['content-length', 'transfer-encoding', 'host']);

/** Names of which the first value counts. */
const FIRST = new Set(['authorization', 'content-type']);

const CR = 13;
const LF = 10;
const SPACE = 0x20;
const TAB = 0x09;
const HYPHEN = 0x2d;
const CAPITAL_A = 0x41;
const CAPITAL_Z = 0x5a;

/**
 * Reads the head of a request from the start of what has arrived. Returns `undefined` if it is not complete. Whatever two readers
 * could take for different requests is a fault: RFC 9112, §2.2, §5, §6.
 */
export function readHead(bytes: Buffer, searchFrom: number): FoundHead | HttpFault | undefined {
  if (!mayBeginMethod(bytes)) return 'method';
  const end = bytes.indexOf('\r\n\r\n', searchFrom, 'latin1');
  if ((end < 0 ? bytes.length : end) > HEAD_BYTES_MAX) return 'head-too-large';
  if (end < 0) return undefined;
  const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const found = readRequestLine(line);
  if (typeof found === 'string') return found;
  const headers = readHeaders(lines);
  if (typeof headers === 'string') return headers;
  const framing = framingOf(headers, found.isCurrent);
  if (typeof framing === 'string' && framing !== 'chunks') return framing;
  return { head: headOf(found, headers, framing), end: end + 4 };
}

/** The length of the empty lines before a request, which are no fault: RFC 9112, §2.2. */
export function emptyLinesOf(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
  return at;
}

/** Whether the bytes can still become a method. So what is no HTTP at all is refused without waiting for the end of its line. */
function mayBeginMethod(bytes: Buffer): boolean {
  const isHalfEmptyLine = bytes.length === 1 && bytes[0] === CR;
  if (isHalfEmptyLine) return true;
  for (const [at, byte] of bytes.subarray(0, METHOD_BYTES_MAX).entries()) {
    if (byte === SPACE && at > 0) return true;
    if (byte !== HYPHEN && (byte < CAPITAL_A || byte > CAPITAL_Z)) return false;
  }
  return bytes.length < METHOD_BYTES_MAX;
}

type RequestLine = Pick<RequestHead, 'method' | 'target' | 'isCurrent'>;

function readRequestLine(line: string): RequestLine | HttpFault {
  const first = line.indexOf(' ');
  const last = line.lastIndexOf(' ');
  const method = line.slice(0, first);
  if (!METHODS.has(method)) return 'method';
  const version = line.slice(last + 1);
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') return 'version';
  if (method === 'CONNECT') return 'tunnel';
  const target = line.slice(first + 1, last);
  if (target.includes(' ')) return 'request';
  if (!TARGET.test(target)) return 'target';
  if (!target.startsWith('/') && !/^https?:\/\//i.test(target)) return 'request';
  return { method, target, isCurrent: version === 'HTTP/1.1' };
}

function readHeaders(lines: readonly string[]): ReadonlyMap<string, string> | HttpFault {
  if (lines.length > HEADERS_MAX) return 'head-too-large';
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = trimmed(line, colon + 1);
    // A line that continues the last one begins with a space, which is not in a name either.
    if (colon < 0 || !NAME.test(name) || CONTROL.test(value)) return 'header';
    const before = headers.get(name);
    if (before !== undefined && ONCE.has(name)) return name === 'host' ? 'header' : faultOf(name);
    if (before === undefined) headers.set(name, value);
    else if (!FIRST.has(name)) headers.set(name, `${before}, ${value}`);
  }
  return headers;
}

function faultOf(name: string): HttpFault {
  return name === 'content-length' ? 'length' : 'encoding';
}

/** Without spaces and tabs at both ends. In one pass: values are chosen by strangers. */
function trimmed(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function framingOf(
  headers: ReadonlyMap<string, string>,
  isCurrent: boolean,
): BodyFraming | 'length' | 'encoding' {
  const length = headers.get('content-length');
  const encoding = headers.get('transfer-encoding');
  if (encoding !== undefined) {
    const isAllowed = isCurrent && length === undefined && encoding.toLowerCase() === 'chunked';
    return isAllowed ? 'chunks' : 'encoding';
  }
  if (length === undefined) return { bytes: 0 };
  return /^\d{1,15}$/.test(length) ? { bytes: Number(length) } : 'length';
}

function headOf(
  line: RequestLine,
  headers: ReadonlyMap<string, string>,
  framing: BodyFraming,
): RequestHead {
  return {
    ...line,
    headers,
    framing,
    // Other expectations are ignored.
    expectsContinue: line.isCurrent && headers.get('expect')?.toLowerCase() === '100-continue',
    isLast: !line.isCurrent || saysClose(headers.get('connection')),
  };
}
