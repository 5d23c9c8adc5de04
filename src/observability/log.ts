import { type LogLevel, logLevels } from '../runtime/logging/log-level.ts';
import { printable } from '../runtime/logging/printable.ts';
import { redactUrls } from '../runtime/logging/redact.ts';
import type { Log, LogFields } from '../runtime/ports.ts';
import { type LogLine, SERVER } from './line-writer.ts';

export type LogFormat = 'json' | 'text';

/** A line of the log that is kept to be shown. */
export interface KeptLine {
  /** The line as JSON, as `log.format: json` writes it. */
  readonly text: string;
  readonly level: LogLevel;
  /** The app or instance that it is about, or the server. */
  readonly owner: string;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly write: (line: LogLine) => void;
  /** Takes each line, also as it would be in JSON. */
  readonly keep?: (line: KeptLine) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Characters of a field that are logged: text of clients may be long. */
const FIELD_LENGTH_MAX = 500;

/** Creates a log that writes one line per message. A message below its level costs one comparison. */
export function createLog({ level, format, write, keep, now }: LogOptions): Log {
  const least = logLevels.indexOf(level);
  const at = (name: LogLevel) => {
    const isWanted = logLevels.indexOf(name) >= least;
    const isSevere = name === 'warn' || name === 'error';
    return (message: string, fields: LogFields = {}) => {
      if (!isWanted) return;
      const entry = { atMs: now(), level: name, message, fields };
      const text = formatLine(format, entry);
      const owner = ownerOf(fields);
      write({ text, owner, isSevere });
      keep?.({ text: format === 'json' ? text : formatLine('json', entry), level: name, owner });
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The owner of a line. */
function ownerOf({ app, instance }: LogFields): string {
  if (app !== undefined) return `app ${app}`;
  return instance === undefined ? SERVER : `instance ${instance}`;
}

export interface LogEntry {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/**
 * Formats one line. It contains no character that controls a terminal or ends the line, whatever the fields contain.
 */
export function formatLine(format: LogFormat, entry: LogEntry): string {
  return printable(format === 'json' ? jsonLine(entry) : textLine(entry));
}

function shown(
  value: string | number | boolean | undefined,
): string | number | boolean | undefined {
  if (typeof value !== 'string') return value;
  // Errors of libraries may contain URLs.
  const text = value.includes('://') ? redactUrls(value) : value;
  return text.length > FIELD_LENGTH_MAX ? `${text.slice(0, FIELD_LENGTH_MAX)}…` : text;
}

function jsonLine({ atMs, level, message, fields }: LogEntry): string {
  const line: Record<string, unknown> = { time: new Date(atMs).toISOString(), level, message };
  for (const [name, value] of Object.entries(fields)) line[name] = shown(value);
  return JSON.stringify(line);
}

/** The line for people: time of day, level, message, fields. */
function textLine({ atMs, level, message, fields }: LogEntry): string {
  const clock = new Date(atMs).toTimeString().slice(0, 8);
  let line = `${clock} ${level.toUpperCase().padEnd(5)} ${message}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const text = shown(value);
    // Quoted if it could be mistaken for the end of the field or the line.
    line += `  ${name}=${typeof text === 'string' && !/^[\w./:@#-]+$/.test(text) ? JSON.stringify(text) : text}`;
  }
  return line;
}
