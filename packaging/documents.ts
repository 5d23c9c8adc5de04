import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';

/** What an operator reads beside a program that is installed: the pages, with the alerts and the dashboard for Grafana. */
const DOCUMENTS = ['docs', 'CHANGELOG.md', 'SECURITY.md'];

/** Puts the documents into a folder, so that their links to each other are right. */
export function copyDocuments(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of DOCUMENTS) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
}
