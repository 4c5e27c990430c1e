// Holds manifests against the schemas of Kubernetes' API and of the Prometheus operator's resources.
//   node check.mjs FILE...
// What a schema demands is asked of the schema; that nothing has a field that the API does not know is asked of
// TypeScript, for the schemas themselves let any field pass, and a cluster drops it without a word.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';

const found = [];
let imports = '';
let objects = '';
let count = 0;

const packageOf = (apiVersion) =>
  apiVersion.startsWith('monitoring.coreos.com/') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';

// kustomize has no schema there: what it names has to exist.
function checkKustomization(file, it) {
  const known = ['apiVersion', 'kind', 'resources', 'components', 'configMapGenerator', 'images'];
  for (const key of Object.keys(it)) if (!known.includes(key)) found.push(`${file}: ${key} is not looked at here`);
  const named = [...(it.resources ?? []), ...(it.components ?? []), ...(it.configMapGenerator ?? []).flatMap((one) => one.files)];
  for (const one of named) if (!existsSync(join(dirname(file), one))) found.push(`${file}: there is no ${one}`);
}

async function check(file, it) {
  const from = `${packageOf(it.apiVersion)}/${it.apiVersion}/${it.kind}`;
  let model;
  try {
    model = (await import(from))[it.kind];
  } catch {
    return found.push(`${file}: the API has no ${it.kind} of ${it.apiVersion}`);
  }
  try {
    new model(it).validate();
  } catch (wrong) {
    found.push(`${file}: ${it.kind}: ${wrong.message}`);
  }
  ++count;
  imports += `import type { I${it.kind} as T${count} } from '${from}';\n`;
  objects += `export const o${count}: T${count} = ${JSON.stringify(it, null, 1)};\n`;
}

function checkFields() {
  const name = resolve('manifests.ts');
  const options = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    target: ts.ScriptTarget.ES2022,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const [read, exists, source] = [host.readFile, host.fileExists, host.getSourceFile];
  host.readFile = (of) => (of === name ? imports + objects : read(of));
  host.fileExists = (of) => of === name || exists(of);
  host.getSourceFile = (of, ...rest) =>
    of === name ? ts.createSourceFile(of, imports + objects, ts.ScriptTarget.ES2022) : source(of, ...rest);
  for (const one of ts.getPreEmitDiagnostics(ts.createProgram([name], options, host)))
    found.push(ts.flattenDiagnosticMessageText(one.messageText, ' '));
}

for (const file of process.argv.slice(2))
  for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
    for (const wrong of document.errors) found.push(`${file}: ${wrong.message}`);
    const it = document.toJS();
    if (it.apiVersion.startsWith('kustomize.config.k8s.io/')) checkKustomization(file, it);
    else await check(file, it);
  }
checkFields();
for (const one of found) console.error(one);
console.log(`${count} objects looked at`);
process.exit(count > 0 && found.length === 0 ? 0 : 1);
