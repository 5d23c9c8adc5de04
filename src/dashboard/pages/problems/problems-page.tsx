import { PageHead } from '../../parts/page-head.tsx';
import { AuthorisationDoctor } from './doctor.tsx';

/** What do clients and backends of this app do wrong? */
export default function ProblemsPage({ app }: { readonly app: string }) {
  return (
    <div class="page">
      <PageHead
        title="Problems"
        of={app}
        says="What clients and backends of this app do wrong, and how to mend it."
      />
      <AuthorisationDoctor app={app} />
    </div>
  );
}
