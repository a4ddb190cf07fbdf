\set number random(1, :rows)
SELECT strpos(document, '#') FROM pgassay_documents WHERE corpus = :corpus AND number = :number AND method = current_setting('default_toast_compression');
