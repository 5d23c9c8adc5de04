import { readdirSync, readFileSync } from 'node:fs';

/** A running process with its command: words with one space between. */
export interface Program {
  readonly pid: number;
  readonly command: string;
}

/** All processes of this machine whose command can be read. */
export function programs(): readonly Program[] {
  return process.platform === 'linux' ? fromProc() : readPs(askPs());
}

/** Debian has no `ps` and no `pgrep` unless they are installed. */
function fromProc(): readonly Program[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }));
}

/** Empty for a process that has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0$/, '').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function askPs(): string {
  return Bun.spawnSync(['ps', '-A', '-o', 'pid=,args=']).stdout.toString();
}

/** Reads the lines of `ps -A -o pid=,args=`. */
export function readPs(text: string): readonly Program[] {
  return [...text.matchAll(/^ *(\d+) (.*)$/gm)].map(([, pid, command = '']) => ({
    pid: Number(pid),
    command,
  }));
}
