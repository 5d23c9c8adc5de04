const levels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof levels)[number];

export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  readonly write: (line: string) => void;
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
  const formatLine = format === 'json' ? jsonLine : textLine;
  const at = (name: LogLevel) => {
    const wanted = levels.indexOf(name) >= least;
    return (message: string, fields: Fields = {}) => {
      if (wanted) write(formatLine(new Date(now()), name, message, fields));
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function shown(
  value: string | number | boolean | undefined,
): string | number | boolean | undefined {
  return typeof value === 'string' && value.length > FIELD_LENGTH_MAX
    ? `${value.slice(0, FIELD_LENGTH_MAX)}…`
    : value;
}

function jsonLine(time: Date, level: LogLevel, message: string, fields: Fields): string {
  const line: Record<string, unknown> = { time: time.toISOString(), level, message };
  for (const [name, value] of Object.entries(fields)) line[name] = shown(value);
  return JSON.stringify(line);
}

/** For people: the time of day, the level, the message, and the fields behind it. */
function textLine(time: Date, level: LogLevel, message: string, fields: Fields): string {
  const clock = time.toTimeString().slice(0, 8);
  let line = `${clock} ${level.toUpperCase().padEnd(5)} ${message}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const text = shown(value);
    // Quoted where it has a space or could be taken for the end of the line or of the field.
    line += `  ${name}=${typeof text === 'string' && !/^[\w./:@#-]+$/.test(text) ? JSON.stringify(text) : text}`;
  }
  return line;
}
