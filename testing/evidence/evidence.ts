import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { EVIDENCE_FOLDER, type EvidenceResult, type EvidenceRow, readSection } from './rows.ts';

const ROOT = join(import.meta.dir, '../..');

/**
 * Keeps what came of long runs, for `docs/use/evidence.md` (`--record`). Open it before the run: a row names the commit that was
 * run, so the working tree must be that commit.
 */
export class Evidence {
  private readonly commit: string;

  private constructor(commit: string) {
    this.commit = commit;
  }

  /** Throws if something of the repository is not committed, but for evidence itself. */
  static open(): Evidence {
    const changes = git('status', '--porcelain', '--', '.', ':!bench/evidence', ':!docs');
    if (changes !== '') {
      throw new Error(`Commit first: a recorded run names its commit. Changed:\n${changes}`);
    }
    return new Evidence(git('rev-parse', 'HEAD'));
  }

  /** Keeps a row in place of an earlier one of the same name. */
  record(result: EvidenceResult): void {
    const row: EvidenceRow = {
      ...result,
      commit: this.commit,
      version: packageJson.version,
      date: new Date().toISOString().slice(0, 10),
      machine: {
        cpu: cpus()[0]?.model.trim() ?? 'unknown',
        cores: cpus().length,
        memoryGiB: Math.round(totalmem() / 2 ** 30),
        kernel: release(),
      },
    };
    mkdirSync(EVIDENCE_FOLDER, { recursive: true });
    const path = join(EVIDENCE_FOLDER, `${row.section}.json`);
    const others = readSection(row.section).filter(({ name }) => name !== row.name);
    const rows = [...others, row].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    writeFileSync(`${path}.new`, `${JSON.stringify(rows, null, 2)}\n`);
    renameSync(`${path}.new`, path);
  }
}

function git(...args: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd: ROOT });
  if (!success) throw new Error(`git ${args[0]}: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}
