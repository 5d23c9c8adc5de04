import { printable } from '../runtime/printable.ts';
import { redactUrls } from '../runtime/redacted-url.ts';
import { type LogLine, SERVER } from './line-writer.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof levels)[number];

export type LogFormat = 'json' | 'text';

export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly write: (line: LogLine) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Characters of one field that are shown: what clients send ends up here, and may be long. */
const FIELD_LENGTH_MAX = 500;

/** A log that writes one line per message. */
export interface LineLog {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** Makes a log; messages below its level cost a comparison. */
export function createLog({ level, format, write, now }: LogOptions): LineLog {
  const least = levels.indexOf(level);
  const at = (name: LogLevel) => {
    const isWanted = levels.indexOf(name) >= least;
    const isSevere = name === 'warn' || name === 'error';
    return (message: string, fields: Fields = {}) => {
      if (!isWanted) return;
      const text = formatLine(format, { atMs: now(), level: name, message, fields });
      write({ text, owner: ownerOf(fields), isSevere });
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Whom a line is about. */
function ownerOf({ app, instance }: Fields): string {
  if (app !== undefined) return `app ${app}`;
  return instance === undefined ? SERVER : `instance ${instance}`;
}

export interface LogEntry {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Fields;
}

/** One line without a character that could control a terminal or end the line, whatever the fields hold. */
export function formatLine(format: LogFormat, entry: LogEntry): string {
  return printable(format === 'json' ? jsonLine(entry) : textLine(entry));
}

function shown(
  value: string | number | boolean | undefined,
): string | number | boolean | undefined {
  if (typeof value !== 'string') return value;
  // Errors of libraries may repeat a URL.
  const text = value.includes('://') ? redactUrls(value) : value;
  return text.length > FIELD_LENGTH_MAX ? `${text.slice(0, FIELD_LENGTH_MAX)}…` : text;
}

function jsonLine({ atMs, level, message, fields }: LogEntry): string {
  const line: Record<string, unknown> = { time: new Date(atMs).toISOString(), level, message };
  for (const [name, value] of Object.entries(fields)) line[name] = shown(value);
  return JSON.stringify(line);
}

/** For people: the time of day, the level, the message, and the fields behind it. */
function textLine({ atMs, level, message, fields }: LogEntry): string {
  const clock = new Date(atMs).toTimeString().slice(0, 8);
  let line = `${clock} ${level.toUpperCase().padEnd(5)} ${message}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const text = shown(value);
    // Quoted where it has a space or could be taken for the end of the line or of the field.
    line += `  ${name}=${typeof text === 'string' && !/^[\w./:@#-]+$/.test(text) ? JSON.stringify(text) : text}`;
  }
  return line;
}
