import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { tarOf } from './archive.ts';
import { ROOT } from './bundle.ts';
import { versionOf } from './commit.ts';
import { configJsonSchema } from './config-json-schema.ts';

/** The source of the chart. */
const CHART = join(ROOT, 'packaging/helm/fanfare');

/** Makes the archive of the Helm chart. Helm itself is not needed. */
export async function packChart(out: string): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-chart-'));
  try {
    const chart = stageChart(folder);
    const archive = join(out, `fanfare-chart-${versionOf(ROOT)}.tgz`);
    const tar = await tarOf(folder, [basename(chart)]);
    await Bun.write(archive, Bun.gzipSync(tar, { level: 9 }));
    return [archive];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the chart for a release: with its version, without links, and with a schema of all settings of the server. */
function stageChart(folder: string): string {
  const chart = join(folder, basename(CHART));
  // The examples are for tests alone.
  const filter = (path: string) => path !== join(CHART, 'ci');
  cpSync(CHART, chart, { recursive: true, dereference: true, filter });
  change(join(chart, 'Chart.yaml'), withVersion);
  change(join(chart, 'values.schema.json'), withSettings);
  return chart;
}

function change(file: string, edit: (text: string) => string): void {
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
}

function withVersion(text: string): string {
  const version = versionOf(ROOT);
  return text
    .replace(/^(?:# `npm run package.*\n)?version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`);
}

function withSettings(text: string): string {
  const schema = JSON.parse(text);
  schema.$defs.config = configJsonSchema();
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
