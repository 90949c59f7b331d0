// Generates the editor schema of models.json from the built server.

/** The text of models.schema.json. */
export async function modelsSchemaText() {
  const { modelsSchema } = await import('../../dist/inference/models/catalogue/catalogue.js');
  return `${JSON.stringify(modelsSchema(), null, 2)}\n`;
}
