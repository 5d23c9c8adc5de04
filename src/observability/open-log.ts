import type { LogLevel } from '../runtime/logging/log-level.ts';
import type { Log } from '../runtime/ports.ts';
import { LineWriter } from './line-writer.ts';
import { createLog, formatLine, type KeptLine, type LogFormat } from './log.ts';

export interface OpenLogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** A port of the log thread. */
  readonly port: MessagePort;
  /** Takes each line, so that the last ones can be shown. */
  readonly keep?: (line: KeptLine) => void;
}

/** The log of one loop. */
export interface OpenLog extends AsyncDisposable {
  readonly log: Log;
  /** Dropped lines since the start. */
  readonly droppedLines: () => number;
}

/** How long closing waits for lines to be written. Milliseconds. */
const FLUSH_MS_MAX = 2_000;

/** Opens the log of a loop. The log thread writes it. */
export function openLog({ level, format, port, keep }: OpenLogOptions): OpenLog {
  const lines = new LineWriter({
    send: (text) => port.postMessage(text),
    droppedLine: (owner, count) =>
      formatLine(format, {
        atMs: Date.now(),
        level: 'warn',
        message: 'Log lines dropped: they were not read fast enough',
        fields: { owner, lines: count },
      }),
  });
  port.onmessage = ({ data }: { readonly data: boolean }) => lines.written(data);
  return {
    log: createLog({
      level,
      format,
      write: (line) => lines.write(line),
      ...(keep && { keep }),
      now: Date.now,
    }),
    droppedLines: () => lines.droppedLines,
    async [Symbol.asyncDispose]() {
      await lines.flushed(FLUSH_MS_MAX);
      port.close();
    },
  };
}
